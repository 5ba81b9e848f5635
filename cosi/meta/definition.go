// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// ResourceDefinitionSpec describes a type; the id is the type in lower case.
type ResourceDefinitionSpec struct {
	Type             string   `yaml:"type"             protobuf:"1"`
	DisplayType      string   `yaml:"displayType"      protobuf:"2"`
	DefaultNamespace string   `yaml:"defaultNamespace" protobuf:"3"`
	Aliases          []string `yaml:"aliases"          protobuf:"4"`
	AllAliases       []string `yaml:"allAliases"       protobuf:"5"`
	// SkipAutomaticAliases is not part of the wire form.
	SkipAutomaticAliases bool                   `yaml:"skipAutomaticAliases,omitempty"`
	PrintColumns         []resource.PrintColumn `yaml:"printColumns"          protobuf:"6"`
	Sensitivity          resource.Sensitivity   `yaml:"sensitivity,omitempty" protobuf:"7"`
}

var resourceDefinition = &resource.Definition{
	Type:             "ResourceDefinitions.meta.cosi.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"api-resources"},
	PrintColumns:     []resource.PrintColumn{{Name: "Aliases", JSONPath: "{.aliases[:]}"}},
}

// Definition implements resource.Spec.
func (ResourceDefinitionSpec) Definition() *resource.Definition { return resourceDefinition }

// NewResourceDefinition returns the description of a type, including the parts that are derived from its name.
func NewResourceDefinition(def *resource.Definition) (*resource.Typed[ResourceDefinitionSpec], error) {
	rd := resource.New[ResourceDefinitionSpec](NamespaceName, strings.ToLower(def.Type))

	*rd.TypedSpec() = ResourceDefinitionSpec{
		Type:                 def.Type,
		DefaultNamespace:     def.DefaultNamespace,
		Aliases:              slices.Clone(def.Aliases),
		SkipAutomaticAliases: def.SkipAutomaticAliases,
		PrintColumns:         slices.Clone(def.PrintColumns),
		Sensitivity:          def.Sensitivity,
	}

	if err := rd.TypedSpec().fill(); err != nil {
		return nil, fmt.Errorf("resource definition %q: %w", def.Type, err)
	}

	return rd, nil
}

var (
	nameForm   = regexp.MustCompile(`^[A-Z][A-Za-z0-9-]+$`)
	suffixForm = regexp.MustCompile(`^[a-z][a-z0-9-]+(\.[a-z][a-z0-9-]+)*$`)
)

// fill checks the name, and derives the display type and the aliases from it.
func (s *ResourceDefinitionSpec) fill() error {
	name, suffix, dotted := strings.Cut(s.Type, ".")

	switch {
	case !dotted:
		return fmt.Errorf("type %q has no suffix: expected Names.suffix", s.Type)
	case name == "":
		return fmt.Errorf("type %q has an empty name", s.Type)
	case suffix == "":
		return fmt.Errorf("type %q has an empty suffix", s.Type)
	case strings.ToLower(name) == name:
		return fmt.Errorf("name %q must be in CamelCase", name)
	case !nameForm.MatchString(name):
		return fmt.Errorf("name %q does not match %s", name, nameForm)
	case !suffixForm.MatchString(suffix):
		return fmt.Errorf("suffix %q does not match %s", suffix, suffixForm)
	}

	single, plural := singular(name)
	if !plural {
		return fmt.Errorf("name %q must be plural", name)
	}

	s.DisplayType = single

	if !s.SkipAutomaticAliases {
		s.addAliases(name, suffix)
	}

	s.AllAliases = append(s.AllAliases, s.Aliases...)

	return nil
}

func (s *ResourceDefinitionSpec) addAliases(name, suffix string) {
	s.Aliases = append(s.Aliases, strings.ToLower(s.DisplayType))

	initials := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}

		return -1
	}, name)

	if len(initials) > 1 {
		s.Aliases = append(s.Aliases, initials)

		if !strings.HasSuffix(initials, "s") {
			s.Aliases = append(s.Aliases, initials+"s")
		}
	}

	lower := strings.ToLower(name)
	s.AllAliases = append(s.AllAliases, lower)

	parts := strings.Split(suffix, ".")
	for i := 1; i < len(parts); i++ {
		s.AllAliases = append(s.AllAliases, lower+"."+strings.Join(parts[:i], "."))
	}
}
