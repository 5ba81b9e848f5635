// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var metaKeyDefinition = domain.Alias("meta").Sensitive().Type("MetaKeys", "Value={.value}") // the platform's network may have keys of WireGuard, and 0x0b is a code

// MetaKeySpec is a value of the META partition; its id is the tag, such as 0x0a.
type MetaKeySpec struct {
	Value string `yaml:"value" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MetaKeySpec) Definition() *resource.Definition { return metaKeyDefinition }

// MetaLoadedID is the id of the only MetaLoaded.
const MetaLoadedID = "meta-loaded"

var metaLoadedDefinition = domain.Type("MetaLoads", "Done={.done}")

// MetaLoadedSpec exists when META was read: then a missing MetaKey has no value.
type MetaLoadedSpec struct {
	Done bool `yaml:"done" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MetaLoadedSpec) Definition() *resource.Definition { return metaLoadedDefinition }
