// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v4"
)

// The parts of a world have one written form, that of JSON: the control API of
// a lab has it as it is, and the lab's state as YAML.

// MarshalYAML writes what JSON has.
func (w World) MarshalYAML() (any, error) { return throughJSON(w) }

// UnmarshalYAML reads what MarshalYAML writes, and nothing else.
func (w *World) UnmarshalYAML(node *yaml.Node) error { return fromYAML(node, w) }

// MarshalYAML writes what JSON has.
func (c Card) MarshalYAML() (any, error) { return throughJSON(c) }

// UnmarshalYAML reads what MarshalYAML writes, and nothing else.
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

// block gives a node the style that people read more easily.
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
