// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/strict"
)

// mark is the key that requests something other than merging. The only value is erasure.
const (
	mark    = "$patch"
	erasure = "delete"
)

// marked reports whether a node has the mark for deletion.
func marked(node *yaml.Node) bool {
	value := get(node, mark)

	return value != nil && value.Value == erasure
}

// unknownMark returns an error for a mark with an unknown value.
func unknownMark(node *yaml.Node) error {
	if at := find(node, mark); at >= 0 && !marked(node) {
		key, value := node.Content[at], node.Content[at+1]

		return strict.Problem{
			Line: key.Line, Column: key.Column,
			Text: fmt.Sprintf("unknown \"%s: %s\": want %s", mark, value.Value, erasure),
		}
	}

	for _, child := range node.Content {
		if err := unknownMark(child); err != nil {
			return err
		}
	}

	return nil
}

// withoutMarks copies a node for the strict decoder: a marked object under a key becomes null, and the
// marks of documents and list elements are removed. Aliases remain: the decoder limits their expansion.
func withoutMarks(node *yaml.Node, depth int) *yaml.Node {
	const maxDepth = 1000 // the limit of the YAML library is lower

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
