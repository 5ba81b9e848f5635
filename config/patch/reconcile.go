// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
)

// reconcile changes a node until it holds the value, and leaves what holds it already as it was written:
// comments, order of keys, quotes.
func reconcile(node *yaml.Node, value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		if node.Kind == yaml.MappingNode {
			return reconcileMapping(node, value)
		}
	case []any:
		if node.Kind == yaml.SequenceNode {
			return reconcileList(node, value)
		}
	default:
		if node.Kind == yaml.ScalarNode && sameScalar(node, value) {
			return node
		}
	}

	made := newNode(value)
	made.HeadComment, made.LineComment, made.FootComment = node.HeadComment, node.LineComment, node.FootComment

	return made
}

func reconcileMapping(node *yaml.Node, value map[string]any) *yaml.Node {
	out := *node
	out.Content = nil
	seen := map[string]bool{}

	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]

		if inner, ok := value[key.Value]; ok {
			seen[key.Value] = true
			out.Content = append(out.Content, key, reconcile(node.Content[i+1], inner))
		}
	}

	for _, key := range slices.Sorted(maps.Keys(value)) {
		if !seen[key] {
			out.Content = append(out.Content, newNode(key), newNode(value[key]))
		}
	}

	if len(node.Content) == 0 {
		out.Style &^= yaml.FlowStyle
	}

	return &out
}

func reconcileList(node *yaml.Node, value []any) *yaml.Node {
	out := *node
	out.Content = nil

	for i, inner := range value {
		if i < len(node.Content) {
			out.Content = append(out.Content, reconcile(node.Content[i], inner))
		} else {
			out.Content = append(out.Content, newNode(inner))
		}
	}

	if len(node.Content) == 0 {
		out.Style &^= yaml.FlowStyle
	}

	return &out
}

// sameScalar tells whether a node is the value already. Numbers are compared as JSON writes them.
func sameScalar(node *yaml.Node, value any) bool {
	text, err := toJSON(node)
	if err != nil {
		return false
	}

	want, err := json.Marshal(value)

	return err == nil && string(text) == string(want)
}

func newNode(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}

		for _, key := range slices.Sorted(maps.Keys(value)) {
			node.Content = append(node.Content, newNode(key), newNode(value[key]))
		}

		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}

		for _, inner := range value {
			node.Content = append(node.Content, newNode(inner))
		}

		return node
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case bool:
		text, _ := json.Marshal(value)

		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: string(text)}
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	default: // JSON has nothing else but strings
		node := &yaml.Node{}
		node.SetString(value.(string))

		return node
	}
}
