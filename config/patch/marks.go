// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/strict"
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

// unknownMark reports a mark that asks for something there is not.
func unknownMark(node *yaml.Node) error {
	if at := find(node, mark); at >= 0 && !marked(node) {
		key, value := node.Content[at], node.Content[at+1]

		return strict.Problem{
			Line: key.Line, Column: key.Column,
			Text: fmt.Sprintf("\"%s: %s\" is not known: only %s is", mark, value.Value, erasure),
		}
	}

	for _, child := range node.Content {
		if err := unknownMark(child); err != nil {
			return err
		}
	}

	return nil
}

// withoutMarks copies a node as the strict decoder may see it: an object under a key that is to be
// deleted becomes null, and the marks of documents and list elements are left out. Aliases stay: the
// decoder knows how to bound them.
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
