// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var etcdEncryptionConfigDefinition = &resource.Definition{
	Type:             "EtcdEncryptionConfigs.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// EtcdEncryptionConfigSpec is the API server's EncryptionConfiguration, YAML.
type EtcdEncryptionConfigSpec struct {
	Configuration string `yaml:"configuration" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EtcdEncryptionConfigSpec) Definition() *resource.Definition {
	return etcdEncryptionConfigDefinition
}
