// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"bytes"

	"go.yaml.in/yaml/v4"
)

// reconcile returns a node with the given value. Parts of node that have this value already keep their comments,
// order of keys and quotes.
func reconcile(node, value *yaml.Node) *yaml.Node {
	out := *node
	out.Content = nil

	switch {
	case node.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]

			if inner := get(value, key.Value); inner != nil {
				out.Content = append(out.Content, key, reconcile(node.Content[i+1], inner))
				unset(value, key.Value)
			}
		}

		out.Content = append(out.Content, value.Content...)
	case node.Kind == yaml.SequenceNode && value.Kind == yaml.SequenceNode:
		for i, inner := range value.Content {
			if i < len(node.Content) {
				inner = reconcile(node.Content[i], inner)
			}

			out.Content = append(out.Content, inner)
		}
	case node.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode && sameScalar(node, value):
		return node
	default:
		value.HeadComment, value.LineComment, value.FootComment = node.HeadComment, node.LineComment, node.FootComment

		return value
	}

	if len(node.Content) == 0 {
		out.Style &^= yaml.FlowStyle
	}

	return &out
}

// sameScalar reports whether two nodes have the same value in JSON.
func sameScalar(a, b *yaml.Node) bool {
	one, err := toJSON(a)
	other, otherErr := toJSON(b)

	return err == nil && otherErr == nil && bytes.Equal(one, other)
}
