// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mergeList appends the elements of the patch to the target. With the rule "key=a,b" it matches elements by
// the first of these keys that the patch's element has, and merges a pair that matches. A marked element
// deletes the elements that have the same value under its first other key.
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

// match returns the index of the element with the same key as item, or -1.
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

// drop removes the elements that a marked element selects.
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

// equal reports whether two values are the same. Styles and the order of keys do not count.
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
