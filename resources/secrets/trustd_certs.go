// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var trustdCertsDefinition = &resource.Definition{
	Type:             "TrustdCertificates.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// TrustdCertsSpec is what trustd serves with.
type TrustdCertsSpec struct {
	Server      CertAndKey `yaml:"server" protobuf:"2"`
	AcceptedCAs []Cert     `yaml:"acceptedCAs" protobuf:"3"`
}

// Definition implements resource.Spec.
func (TrustdCertsSpec) Definition() *resource.Definition { return trustdCertsDefinition }
