// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
)

// DecodePlain decodes YAML into the types of JSON. Timestamps and keys become strings.
func DecodePlain(text string) (any, error) {
	var node yaml.Node

	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		return nil, err
	}

	if len(node.Content) == 0 {
		return nil, nil
	}

	retag(&node)

	var value any

	err := node.Decode(&value)

	return value, err
}

func retag(node *yaml.Node) {
	const text = "!!str"

	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!timestamp" {
		node.Tag = text
	}

	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			child.Tag = text
		}

		retag(child)
	}
}

// ManyDocuments reports whether a spec is a stream of YAML documents, as a machine configuration may be.
func ManyDocuments(text string) bool {
	return strings.Contains(strings.TrimPrefix(text, "---\n"), "\n---\n")
}

// DecodeSpec decodes the fields of a resource's spec that T has.
func DecodeSpec[T any](r *cosiapi.Resource) (T, error) {
	var spec T

	if err := yaml.Unmarshal([]byte(r.GetSpec().GetYamlSpec()), &spec); err != nil {
		return spec, fmt.Errorf("decode the spec of %s: %w", r.GetMetadata().GetId(), err)
	}

	return spec, nil
}
