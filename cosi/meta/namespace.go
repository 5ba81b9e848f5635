// SPDX-License-Identifier: Apache-2.0

package meta

import "github.com/seed-59268b81/talos/cosi/resource"

// NamespaceSpec describes a namespace; the id is its name.
type NamespaceSpec struct {
	Description string `yaml:"description" protobuf:"1"`
}

var namespaceDefinition = &resource.Definition{
	Type:             "Namespaces.meta.cosi.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"ns"},
}

// Definition implements resource.Spec.
func (NamespaceSpec) Definition() *resource.Definition { return namespaceDefinition }
