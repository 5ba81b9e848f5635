// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var etcdCertsDefinition = &resource.Definition{
	Type:             "EtcdSecrets.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// EtcdCertsSpec is etcd's certificates and those of its clients.
type EtcdCertsSpec struct {
	Etcd          CertAndKey `yaml:"etcd" protobuf:"1"`
	EtcdPeer      CertAndKey `yaml:"etcdPeer" protobuf:"2"`
	EtcdAdmin     CertAndKey `yaml:"etcdAdmin" protobuf:"3"`
	EtcdAPIServer CertAndKey `yaml:"etcdAPIServer" protobuf:"4"`
}

// Definition implements resource.Spec.
func (EtcdCertsSpec) Definition() *resource.Definition { return etcdCertsDefinition }
