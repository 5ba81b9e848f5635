// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var etcdRootDefinition = &resource.Definition{
	Type:             "EtcdRootSecrets.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// EtcdRootSpec is the authority of etcd.
type EtcdRootSpec struct {
	EtcdCA CertAndKey `yaml:"etcdCA" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EtcdRootSpec) Definition() *resource.Definition { return etcdRootDefinition }
