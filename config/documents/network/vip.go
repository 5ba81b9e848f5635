// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// Layer2VIPConfig shares an address among the control planes: the one that an election in etcd chooses has it. Its name is the address.
type Layer2VIPConfig struct {
	document.Named `yaml:",inline"`
	// The link that gets the address.
	Link value.LinkName `yaml:"link" required:"true"`
}

// HCloudVIPConfig shares a floating or alias address of Hetzner Cloud among the control planes. Its name is the address.
type HCloudVIPConfig struct {
	document.Named `yaml:",inline"`
	// The link that gets the address.
	Link value.LinkName `yaml:"link" required:"true"`
	// The token for the API of the cloud.
	APIToken string `yaml:"apiToken" required:"true"`
}

var layer2VIP = document.Of[Layer2VIPConfig]("Layer2VIPConfig", `apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 192.0.2.50
link: eth0
`)

var hcloudVIP = document.Of[HCloudVIPConfig]("HCloudVIPConfig", `apiVersion: v1alpha1
kind: HCloudVIPConfig
name: 192.0.2.51
link: eth0
apiToken: hcloud-api-token
`)

// Validate implements document.Validator.
func (v *Layer2VIPConfig) Validate(r *document.Report) { addressName(r, v.DocName) }

// Validate implements document.Validator.
func (v *HCloudVIPConfig) Validate(r *document.Report) { addressName(r, v.DocName) }

// addressName checks a name that is an address.
func addressName(r *document.Report, name string) {
	if addr, err := netip.ParseAddr(name); err != nil || addr.String() != name {
		r.Wrong("name", "%q is not an IP address in its usual form, such as 192.0.2.50 or 2001:db8::50", name)
	}
}
