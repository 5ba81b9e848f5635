// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// definitionKind is the kind of the descriptions of resource types.
var definitionKind = Kind{Namespace: "meta", Type: "ResourceDefinitions.meta.cosi.dev"}

// Definition describes a resource type: its names, and how it is shown.
type Definition struct {
	Type             string        `yaml:"type"`
	DisplayType      string        `yaml:"displayType"`
	DefaultNamespace string        `yaml:"defaultNamespace"`
	AllAliases       []string      `yaml:"allAliases"`
	PrintColumns     []PrintColumn `yaml:"printColumns"`
	// Sensitivity is "sensitive" if the type is for administrators only.
	Sensitivity string `yaml:"sensitivity"`
}

// PrintColumn is a column of a type's table. JSONPath is applied to the spec.
type PrintColumn struct {
	Name     string `yaml:"name"`
	JSONPath string `yaml:"jsonPath"`
}

// Definitions are the resource types a node has.
type Definitions []Definition

// Definitions returns the resource types the node has.
func (c *Client) Definitions(ctx context.Context) (Definitions, error) {
	var definitions Definitions

	for r, err := range c.Resources(ctx, definitionKind) {
		if err != nil {
			return nil, err
		}

		var definition Definition

		if err := yaml.Unmarshal([]byte(r.GetSpec().GetYamlSpec()), &definition); err != nil {
			return nil, fmt.Errorf("decode resource definition %s: %w", r.GetMetadata().GetId(), err)
		}

		definitions = append(definitions, definition)
	}

	return definitions, nil
}

// Find returns the type that name means: the type itself, its singular, its initials or another alias, in any case.
func (d Definitions) Find(name string) (Definition, error) {
	lower := strings.ToLower(name)

	var (
		found []Definition
		types []string
	)

	for _, definition := range d {
		if strings.ToLower(definition.Type) == lower {
			return definition, nil
		}

		if slices.Contains(definition.AllAliases, lower) {
			found, types = append(found, definition), append(types, definition.Type)
		}
	}

	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Definition{}, fmt.Errorf("resource type %q is unknown to the node; list its types with: talosctl get rd", name)
	default:
		slices.Sort(types)

		return Definition{}, fmt.Errorf("resource type %q may mean %s; use one of these", name, strings.Join(types, " or "))
	}
}
