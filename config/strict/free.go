// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v4"
)

// free decodes a value of any type into the types of JSON.
func (d *decoder) free(node *yaml.Node, path string) any {
	if node = d.enter(node, path); node == nil {
		return nil
	}

	d.depth++
	defer func() { d.depth-- }()

	switch node.Kind {
	case yaml.MappingNode:
		out := map[string]any{}

		for _, p := range d.pairs(node, path) {
			out[p.key.Value] = d.free(p.value, Join(path, p.key.Value))
		}

		return out
	case yaml.SequenceNode:
		out := make([]any, len(node.Content))

		for i, item := range node.Content {
			out[i] = d.free(item, fmt.Sprintf("%s[%d]", path, i))
		}

		return out
	default:
		return d.freeScalar(node, path)
	}
}

func (d *decoder) freeScalar(node *yaml.Node, path string) any {
	var out any

	switch node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		if err := node.Decode(&out); err != nil {
			d.problem(node, path, "not a valid value: %s: quote it if it is a string", describe(node))

			return nil
		}
	default: // JSON has no dates and no binary data: keep the text
		return node.Value
	}

	switch n := out.(type) {
	case int:
		return int64(n)
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			d.problem(node, path, "JSON cannot express %s: quote it if it is a string", node.Value)

			return nil
		}
	}

	return out
}
