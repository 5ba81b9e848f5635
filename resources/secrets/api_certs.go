// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var apiCertsDefinition = &resource.Definition{
	Type:             "ApiCertificates.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// APICertsSpec is what apid serves with and, on a control plane, calls other nodes with.
type APICertsSpec struct {
	Client                  CertAndKey `yaml:"client" protobuf:"2"`
	Server                  CertAndKey `yaml:"server" protobuf:"3"`
	AcceptedCAs             []Cert     `yaml:"acceptedCAs" protobuf:"4"`
	SkipVerifyingClientCert bool       `yaml:"skipVerifyingClientCert" protobuf:"5"`
}

// Definition implements resource.Spec.
func (APICertsSpec) Definition() *resource.Definition { return apiCertsDefinition }
