// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var pkiStatusDefinition = &resource.Definition{
	Type:             "PKIStatuses.etcd.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Ready", JSONPath: "{.ready}"},
		{Name: "Secrets Version", JSONPath: "{.version}"},
	},
}

// PKIStatusSpec tells that etcd's keys and certificates are on disk.
type PKIStatusSpec struct {
	Ready   bool   `yaml:"ready" protobuf:"1"`
	Version string `yaml:"version" protobuf:"2"`
}

// Definition implements resource.Spec.
func (PKIStatusSpec) Definition() *resource.Definition { return pkiStatusDefinition }
