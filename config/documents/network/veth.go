// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// VethConfig creates a pair of virtual links: what is sent into the one comes out of the other.
type VethConfig struct {
	document.Named `yaml:",inline"`
	// The other link of the pair.
	Peer VethPeer `yaml:"peer" required:"true"`

	LinkSettings `yaml:",inline"`
}

// VethPeer is the second link of a pair.
type VethPeer struct {
	// Name of the link.
	Name value.LinkName `yaml:"name" required:"true"`

	LinkSettings `yaml:",inline"`
}

var veth = document.Of[VethConfig]("VethConfig", `apiVersion: v1alpha1
kind: VethConfig
name: veth0
addresses:
    - address: 192.0.2.1/30
peer:
    name: veth1
    addresses:
        - address: 192.0.2.2/30
`)

// Validate implements document.Validator.
func (v *VethConfig) Validate(r *document.Report) {
	v.validate(r, "")
	v.Peer.validate(r, "peer.")

	if string(v.Peer.Name) == v.DocName {
		r.Wrong("peer.name", "%s is the name of the first link: want another one", v.Peer.Name)
	}
}
