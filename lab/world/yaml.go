// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v4"
)

// A world is written in one form, that of JSON: the control API of a lab uses JSON, and the lab's state the same fields
// in YAML.

// MarshalYAML returns the fields of the JSON form.
func (w World) MarshalYAML() (any, error) { return throughJSON(w) }

// UnmarshalYAML reads the form of MarshalYAML. Unknown fields are an error.
func (w *World) UnmarshalYAML(node *yaml.Node) error { return fromYAML(node, w) }

// MarshalYAML returns the fields of the JSON form.
func (c Card) MarshalYAML() (any, error) { return throughJSON(c) }

// UnmarshalYAML reads the form of MarshalYAML. Unknown fields are an error.
func (c *Card) UnmarshalYAML(node *yaml.Node) error { return fromYAML(node, c) }

func throughJSON(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}

	var plain yaml.Node // JSON is YAML; the node keeps the order of the fields

	if err := yaml.Unmarshal(text, &plain); err != nil {
		return nil, err
	}

	return block(plain.Content[0]), nil
}

// block sets the style of a node to block, which is easier to read.
func block(node *yaml.Node) *yaml.Node {
	node.Style = 0
	for _, child := range node.Content {
		block(child)
	}

	return node
}

func fromYAML(node *yaml.Node, into any) error {
	var plain any
	if err := node.Decode(&plain); err != nil {
		return err
	}

	text, err := json.Marshal(plain)
	if err != nil {
		return err
	}

	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()

	return decoder.Decode(into)
}
