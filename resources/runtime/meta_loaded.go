// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// MetaLoadedID is the id of the only one.
const MetaLoadedID = "meta-loaded"

var metaLoadedDefinition = &resource.Definition{
	Type:             "MetaLoads.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns:     []resource.PrintColumn{{Name: "Done", JSONPath: "{.done}"}},
}

// MetaLoadedSpec says that META was read, so that a MetaKey which is not there is not set.
type MetaLoadedSpec struct {
	Done bool `yaml:"done" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MetaLoadedSpec) Definition() *resource.Definition { return metaLoadedDefinition }
