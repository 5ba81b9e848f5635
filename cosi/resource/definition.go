// SPDX-License-Identifier: Apache-2.0

package resource

import "fmt"

// Sensitivity of a type: sensitive ones are readable by administrators only. It is a number on the wire and text in YAML.
type Sensitivity uint8

// The sensitivities.
const (
	NonSensitive Sensitivity = iota
	Sensitive
)

const sensitive = "sensitive"

// MarshalText implements encoding.TextMarshaler. NonSensitive is the empty text.
func (s Sensitivity) MarshalText() ([]byte, error) {
	if s == Sensitive {
		return []byte(sensitive), nil
	}

	return nil, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sensitivity) UnmarshalText(b []byte) error {
	switch string(b) {
	case "":
		*s = NonSensitive
	case sensitive:
		*s = Sensitive
	default:
		return fmt.Errorf("sensitivity %q is neither empty nor %q", b, sensitive)
	}

	return nil
}

// PrintColumn is one column of the table that clients print.
type PrintColumn struct {
	Name     string `yaml:"name"     protobuf:"1"`
	JSONPath string `yaml:"jsonPath" protobuf:"2"`
}

// Definition describes a resource type; meta.NewResourceDefinition turns it into a resource.
type Definition struct {
	// Type is Plural.suffix, such as AddressStatuses.net.talos.dev.
	Type string
	// DefaultNamespace is used if no namespace is given.
	DefaultNamespace string
	// Aliases beyond the automatic ones (singular, initials).
	Aliases []string
	// PrintColumns of the table, after NODE NAMESPACE TYPE ID VERSION.
	PrintColumns []PrintColumn
	// Sensitivity of the type.
	Sensitivity Sensitivity
	// SkipAutomaticAliases leaves only Aliases.
	SkipAutomaticAliases bool
}

// kind returns the kind in a namespace; an empty one means the default one. It and metadata are not inlined, because they would be in
// functions that are compiled for each type.
//
//go:noinline
func (d *Definition) kind(namespace string) Kind {
	if namespace == "" {
		namespace = d.DefaultNamespace
	}

	return Kind{Namespace: namespace, Type: d.Type}
}

// metadata returns the metadata of a new resource.
//
//go:noinline
func (d *Definition) metadata(namespace, id string) Metadata {
	return NewMetadata(d.kind(namespace).Namespace, d.Type, id)
}
