// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// quote quotes a part of the input, truncated to 60 characters.
func quote(text string) string {
	const limit = 60

	if r := []rune(text); len(r) > limit {
		text = string(r[:limit]) + "…"
	}

	return strconv.Quote(text)
}

// describe describes a node for users.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "an object (key: value)"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
	default:
		return "nothing"
	}

	switch node.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the boolean " + node.Value
	case "!!int", "!!float":
		return "the number " + quote(node.Value)
	default:
		return "the string " + quote(node.Value)
	}
}

// wanted describes the values of a Go type for users.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint64:
		return "a whole number from 0"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<t.Bits()-1)
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a " + t.Kind().String()
	}
}
