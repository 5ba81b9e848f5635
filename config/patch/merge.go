// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/strict"
)

var (
	textType      = reflect.TypeFor[encoding.TextUnmarshaler]()
	oneOrManyType = reflect.TypeFor[strict.OneOrMany]()
)

// merge merges the patch into the target and returns the result. Both are of type t, or free-form if t is
// nil. merge may modify both nodes.
func merge(target, patch *yaml.Node, t reflect.Type) *yaml.Node {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	switch {
	case patch.Kind == yaml.MappingNode && (target.Kind == yaml.MappingNode || isNull(target)):
		return mergeMapping(target, patch, t)
	case patch.Kind == yaml.SequenceNode && target.Kind == yaml.SequenceNode && !(t != nil && t.Implements(oneOrManyType)):
		return mergeList(target, patch, t, "")
	case patch.Kind == yaml.SequenceNode:
		return mergeList(&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}, patch, t, "")
	default:
		return patch
	}
}

func mergeMapping(target, patch *yaml.Node, t reflect.Type) *yaml.Node {
	if isNull(target) {
		target = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}

	// An empty "{}" that gets content is no longer written on one line.
	if len(target.Content) == 0 {
		target.Style &^= yaml.FlowStyle
	}

	if target.HeadComment == "" {
		target.HeadComment = patch.HeadComment
	}

	for i := 0; i+1 < len(patch.Content); i += 2 {
		key, value := patch.Content[i], patch.Content[i+1]

		if marked(value) {
			unset(target, key.Value)

			continue
		}

		child, rule := childOf(t, key.Value)
		at := find(target, key.Value)

		switch {
		case isStruct(t) && at >= 0 && isZero(value, child):
		case isStruct(t) && isNull(value):
		case at < 0:
			target.Content = append(target.Content, key, fresh(value, child, rule))
		case rule == "replace":
			target.Content[at+1] = fresh(value, nil, "")
		case strings.HasPrefix(rule, "key=") && value.Kind == yaml.SequenceNode && target.Content[at+1].Kind == yaml.SequenceNode:
			target.Content[at+1] = mergeList(target.Content[at+1], value, child, rule)
		default:
			target.Content[at+1] = merge(target.Content[at+1], value, child)
		}
	}

	return target
}

// fresh returns a patch's value, without its marks, for a place where the target has no value.
func fresh(value *yaml.Node, t reflect.Type, rule string) *yaml.Node {
	switch value.Kind {
	case yaml.MappingNode:
		empty := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: value.Style}

		return merge(empty, value, t)
	case yaml.SequenceNode:
		empty := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: value.Style}

		return mergeList(empty, value, t, rule)
	default:
		return value
	}
}

// childOf returns the type and the merge rule of a key's value.
func childOf(t reflect.Type, key string) (reflect.Type, string) {
	switch {
	case isStruct(t):
		field := strict.Fields(t)[key]

		return field.Type, field.Tag.Get("merge")
	case t != nil && t.Kind() == reflect.Map && t.Elem().Kind() != reflect.Interface:
		return t.Elem(), ""
	default:
		return nil, ""
	}
}

func isStruct(t reflect.Type) bool { return t != nil && t.Kind() == reflect.Struct }

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// isZero reports whether a patch's value for a struct's field leaves it unchanged: null, or "" or 0 if the
// type is a plain string or number.
func isZero(value *yaml.Node, t reflect.Type) bool {
	if isNull(value) {
		return true
	}

	if t == nil || value.Kind != yaml.ScalarNode {
		return false
	}

	switch t.Kind() {
	case reflect.Pointer, reflect.Bool, reflect.Map, reflect.Interface:
		return false
	case reflect.String:
		return value.Value == ""
	default:
		return value.Value == "" || value.Value == "0" && !reflect.PointerTo(t).Implements(textType)
	}
}
