// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var certSANDefinition = &resource.Definition{
	Type:             "CertSANs.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// CertSANSpec is a set of names and addresses that a certificate is issued for.
type CertSANSpec struct {
	IPs      []netip.Addr `yaml:"ips" protobuf:"1"`
	DNSNames []string     `yaml:"dnsNames" protobuf:"2"`
	FQDN     string       `yaml:"fqdn" protobuf:"3"`
}

// Definition implements resource.Spec.
func (CertSANSpec) Definition() *resource.Definition { return certSANDefinition }
