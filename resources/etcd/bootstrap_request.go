// SPDX-License-Identifier: Apache-2.0

package etcd

import "github.com/seed-59268b81/talos/cosi/resource"

var bootstrapRequestDefinition = &resource.Definition{
	Type:             "BootstrapRequests.etcd.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Recover", JSONPath: "{.recover}"},
	},
}

// BootstrapRequestSpec is the one-time wish that this node's etcd starts a new cluster. The API writes it,
// and it stands until the data directory is there; from then on etcd starts from that by itself.
type BootstrapRequestSpec struct {
	// Recover starts from the uploaded snapshot instead of an empty store.
	Recover       bool `yaml:"recover"       protobuf:"1"`
	SkipHashCheck bool `yaml:"skipHashCheck" protobuf:"2"`
}

// Definition implements resource.Spec.
func (BootstrapRequestSpec) Definition() *resource.Definition { return bootstrapRequestDefinition }
