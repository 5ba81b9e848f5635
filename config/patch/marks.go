// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"go.yaml.in/yaml/v4"
)

// mark is the key that asks for something else than merging; deletion is all there is.
const (
	mark    = "$patch"
	erasure = "delete"
)

// marked tells whether a node asks to be deleted.
func marked(node *yaml.Node) bool {
	value := get(node, mark)

	return value != nil && value.Value == erasure
}

// withoutMarks copies a node as the strict decoder may see it: an object under a key that is to be
// deleted becomes null, and the marks of documents and list elements are left out. An unknown mark is
// left in, and so reported as an unknown key. Aliases stay: the decoder knows how to bound them.
func withoutMarks(node *yaml.Node, depth int) *yaml.Node {
	const maxDepth = 1000 // the YAML library stops far earlier

	if depth > maxDepth || len(node.Content) == 0 {
		return node
	}

	out := *node
	out.Content = nil

	for i, child := range node.Content {
		isValue := node.Kind == yaml.MappingNode && i%2 == 1

		if isValue && marked(child) {
			out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: child.Line, Column: child.Column})

			continue
		}

		out.Content = append(out.Content, withoutMarks(child, depth+1))
	}

	if marked(&out) {
		unset(&out, mark)
	}

	return &out
}
