// SPDX-License-Identifier: Apache-2.0

package resource

// Sensitivity of a type: sensitive ones are readable by administrators only.
type Sensitivity string

// The sensitivities.
const (
	NonSensitive Sensitivity = ""
	Sensitive    Sensitivity = "sensitive"
)

// PrintColumn is one column of the table that clients print.
type PrintColumn struct {
	Name     string `yaml:"name"     protobuf:"1"`
	JSONPath string `yaml:"jsonPath" protobuf:"2"`
}

// Definition describes a resource type: what meta.ResourceDefinition is filled from.
type Definition struct {
	// Type is Plural.suffix, such as AddressStatuses.net.talos.dev.
	Type string
	// DefaultNamespace is used where no namespace is given.
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
