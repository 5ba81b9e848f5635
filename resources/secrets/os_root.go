// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var osRootDefinition = &resource.Definition{
	Type:             "OSRootSecrets.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// OSRootSpec is the authority of the machine's API: what signs apid's certificates, and the token with which workers
// ask for theirs.
type OSRootSpec struct {
	IssuingCA       CertAndKey   `yaml:"issuingCA" protobuf:"1"`
	CertSANIPs      []netip.Addr `yaml:"certSANIPs" protobuf:"2"`
	CertSANDNSNames []string     `yaml:"certSANDNSNames" protobuf:"3"`
	Token           string       `yaml:"token" protobuf:"4"`
	AcceptedCAs     []Cert       `yaml:"acceptedCAs" protobuf:"5"`
}

// Definition implements resource.Spec.
func (OSRootSpec) Definition() *resource.Definition { return osRootDefinition }
