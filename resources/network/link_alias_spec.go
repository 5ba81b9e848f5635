// SPDX-License-Identifier: Apache-2.0

package network

import "github.com/seed-59268b81/talos/cosi/resource"

var linkAliasSpecDefinition = domain.Type("LinkAliasSpecs", "Alias={.alias}")

// LinkAliasSpecSpec is a second name for a link. Its id is the link's name.
type LinkAliasSpecSpec struct {
	Alias string `yaml:"alias" protobuf:"1"`
}

// Definition implements resource.Spec.
func (LinkAliasSpecSpec) Definition() *resource.Definition { return linkAliasSpecDefinition }
