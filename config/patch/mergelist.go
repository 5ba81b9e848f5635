// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mergeList appends the elements of the patch to the target. With the rule "key=a,b" an element is merged
// into the one that has the same value under the first of those keys which it has. An element with the
// mark deletes those that have the same value under its first other key.
func mergeList(target, patch *yaml.Node, t reflect.Type, rule string) *yaml.Node {
	var element reflect.Type

	if t != nil && t.Kind() == reflect.Slice {
		element = t.Elem()
	}

	if len(target.Content) == 0 {
		target.Style &^= yaml.FlowStyle
	}

	names, keyed := strings.CutPrefix(rule, "key=")

	for _, item := range patch.Content {
		if marked(item) {
			drop(target, item)

			continue
		}

		if keyed {
			if at := match(target, item, strings.Split(names, ",")); at >= 0 {
				target.Content[at] = merge(target.Content[at], item, element)

				continue
			}
		}

		target.Content = append(target.Content, fresh(item, element, ""))
	}

	return target
}

// match finds the element that has the same key as item.
func match(list, item *yaml.Node, keys []string) int {
	for _, key := range keys {
		wanted := get(item, key)
		if wanted == nil || isNull(wanted) {
			continue
		}

		return slices.IndexFunc(list.Content, func(have *yaml.Node) bool { return equal(get(have, key), wanted) })
	}

	return -1
}

// drop removes the elements that a marked one selects.
func drop(list, item *yaml.Node) {
	for i := 0; i+1 < len(item.Content); i += 2 {
		key, wanted := item.Content[i].Value, item.Content[i+1]
		if key == mark {
			continue
		}

		list.Content = slices.DeleteFunc(list.Content, func(have *yaml.Node) bool { return equal(get(have, key), wanted) })

		return
	}
}

// equal compares two values, whatever their style and the order of their keys.
func equal(a, b *yaml.Node) bool {
	switch {
	case a == nil || b == nil || a.Kind != b.Kind:
		return a == b
	case a.Kind == yaml.ScalarNode:
		return a.Value == b.Value
	case len(a.Content) != len(b.Content):
		return false
	case a.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(a.Content); i += 2 {
			if !equal(a.Content[i+1], get(b, a.Content[i].Value)) {
				return false
			}
		}

		return true
	default:
		return slices.EqualFunc(a.Content, b.Content, equal)
	}
}
