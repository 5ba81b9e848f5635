// SPDX-License-Identifier: Apache-2.0

// Package definition describes a resource type in one line. What the types of a domain share is written once:
//
//	var domain = definition.Domain{Group: "runtime.talos.dev", Namespace: NamespaceName}
//
//	var bootDefinition = domain.Type("Boots", "Boot={.boot}", "Start={.start}")
package definition

import (
	"strings"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Domain is what the types of a domain have in common.
type Domain struct {
	// Group is the end of each type's name.
	Group string
	// Namespace is the default namespace of each type.
	Namespace string

	aliases     []string
	sensitivity resource.Sensitivity
}

// Alias returns a domain whose types have these names beside the automatic ones.
func (d Domain) Alias(names ...string) Domain {
	d.aliases = names

	return d
}

// Sensitive returns a domain whose types only administrators read.
func (d Domain) Sensitive() Domain {
	d.sensitivity = resource.Sensitive

	return d
}

// Type defines PLURAL.GROUP. Each column of its table is NAME=JSONPATH.
func (d Domain) Type(plural string, columns ...string) *resource.Definition {
	def := &resource.Definition{
		Type: plural + "." + d.Group, DefaultNamespace: d.Namespace, Aliases: d.aliases, Sensitivity: d.sensitivity,
	}

	for _, column := range columns {
		name, path, _ := strings.Cut(column, "=")
		def.PrintColumns = append(def.PrintColumns, resource.PrintColumn{Name: name, JSONPath: path})
	}

	return def
}
