// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"go.yaml.in/yaml/v4"
)

type pair struct{ key, value *yaml.Node }

// pairs returns the keys and values of a mapping, then those of merged mappings ("<<") that it does not
// have itself. A duplicate key is a problem.
func (d *decoder) pairs(node *yaml.Node, path string) []pair {
	if node.Kind != yaml.MappingNode {
		d.problem(node, path, "want an object (key: value), got %s", describe(node))

		return nil
	}

	var (
		out    []pair
		merged []*yaml.Node
		seen   = map[string]*yaml.Node{}
	)

	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := d.enter(node.Content[i], path), node.Content[i+1]

		switch {
		case key == nil:
			return out
		case isMerge(key):
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode:
			d.problem(node.Content[i], path, "want a plain key, got %s", describe(key))
		case seen[key.Value] != nil:
			d.problem(node.Content[i], Join(path, key.Value), "duplicate key, first on line %d: keep one", seen[key.Value].Line)
		default:
			seen[key.Value] = node.Content[i]
			out = append(out, pair{key, value})
		}
	}

	for _, m := range merged {
		out = d.merge(out, seen, m, path)
	}

	return out
}

// merge adds the pairs of a merged mapping or of a list of them.
func (d *decoder) merge(out []pair, seen map[string]*yaml.Node, node *yaml.Node, path string) []pair {
	if node = d.enter(node, path); node == nil {
		return out
	}

	d.depth++
	defer func() { d.depth-- }()

	if node.Kind == yaml.SequenceNode {
		for _, item := range node.Content {
			out = d.merge(out, seen, item, path)
		}

		return out
	}

	for _, p := range d.pairs(node, path) {
		if seen[p.key.Value] == nil {
			seen[p.key.Value] = p.key
			out = append(out, p)
		}
	}

	return out
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.ShortTag() == "!!merge")
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}
