// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubernetesDynamicCertsDefinition = &resource.Definition{
	Type:             "KubernetesDynamicCerts.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// KubernetesDynamicCertsSpec is the API server's certificates that follow the node's names and addresses.
type KubernetesDynamicCertsSpec struct {
	APIServer              CertAndKey `yaml:"apiServer" protobuf:"1"`
	APIServerKubeletClient CertAndKey `yaml:"apiServerKubeletClient" protobuf:"2"`
	FrontProxy             CertAndKey `yaml:"frontProxy" protobuf:"3"`
}

// Definition implements resource.Spec.
func (KubernetesDynamicCertsSpec) Definition() *resource.Definition {
	return kubernetesDynamicCertsDefinition
}
