// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"go.yaml.in/yaml/v4"
)

// flatten copies a node and expands aliases and merge keys, so that a change in one place does not change
// another. The node must have been decoded before, which limits its expanded size.
func flatten(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return flatten(node.Alias)
	}

	out := *node
	out.Anchor, out.Content = "", nil

	if node.Kind != yaml.MappingNode {
		for _, child := range node.Content {
			out.Content = append(out.Content, flatten(child))
		}

		return &out
	}

	var merged []*yaml.Node

	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := flatten(node.Content[i]), flatten(node.Content[i+1])

		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)

			continue
		}

		out.Content = append(out.Content, key, value)
	}

	for _, from := range merged {
		inherit(&out, from)
	}

	return &out
}

// inherit adds the keys of a merged mapping, or of a list of them, that the mapping lacks.
func inherit(to, from *yaml.Node) {
	if from.Kind == yaml.SequenceNode {
		for _, item := range from.Content {
			inherit(to, item)
		}

		return
	}

	for i := 0; i+1 < len(from.Content); i += 2 {
		if find(to, from.Content[i].Value) < 0 {
			to.Content = append(to.Content, from.Content[i], from.Content[i+1])
		}
	}
}

// find returns the index of a key in a mapping's content, or -1.
func find(mapping *yaml.Node, key string) int {
	if mapping.Kind != yaml.MappingNode {
		return -1
	}

	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}

	return -1
}

// get returns the value of a key in a mapping, or nil.
func get(mapping *yaml.Node, key string) *yaml.Node {
	if i := find(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}

	return nil
}

// unset removes a key from a mapping.
func unset(mapping *yaml.Node, key string) {
	if i := find(mapping, key); i >= 0 {
		mapping.Content = append(mapping.Content[:i:i], mapping.Content[i+2:]...)
	}
}
