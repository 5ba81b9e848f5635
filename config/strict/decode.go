// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

const (
	// maxValues is the maximum number of values after the expansion of aliases.
	maxValues = 500_000
	// maxDepth is the maximum nesting. An alias may contain itself.
	maxDepth = 200
)

// OneOrMany marks a slice type whose value may be a single scalar.
type OneOrMany interface{ OneOrMany() }

var (
	textType      = reflect.TypeFor[encoding.TextUnmarshaler]()
	oneOrManyType = reflect.TypeFor[OneOrMany]()
	durationType  = reflect.TypeFor[time.Duration]()
)

// Decode decodes node into out, a pointer to a struct, and returns all problems.
func Decode(node *yaml.Node, out any) Problems {
	v := reflect.ValueOf(out).Elem()
	d := &decoder{root: v.Type()}

	d.value(node, v, "")

	return d.problems
}

type decoder struct {
	root     reflect.Type
	problems Problems
	values   int
	depth    int
	stopped  bool
}

func (d *decoder) problem(node *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{Path: path, Line: node.Line, Column: node.Column, Text: fmt.Sprintf(format, args...)})
}

// enter follows aliases and document nodes and counts the value. It returns nil if decoding must stop.
func (d *decoder) enter(node *yaml.Node, path string) *yaml.Node {
	at := node

	for node.Kind == yaml.AliasNode || node.Kind == yaml.DocumentNode {
		switch {
		case node.Kind == yaml.AliasNode && node.Alias != nil:
			node = node.Alias
		case node.Kind == yaml.DocumentNode && len(node.Content) == 1:
			node = node.Content[0]
		default:
			return nil
		}
	}

	d.values++

	if d.stopped {
		return nil
	}

	if d.values > maxValues || d.depth > maxDepth {
		d.stopped = true
		d.problem(at, strings.ToValidUTF8(path[:min(len(path), 80)], ""), "the text nests or repeats too much (over %d levels or %d values): write it without aliases", maxDepth, maxValues)

		return nil
	}

	return node
}

func (d *decoder) value(node *yaml.Node, v reflect.Value, path string) {
	if node = d.enter(node, path); node == nil || isNull(node) {
		return
	}

	d.depth++
	defer func() { d.depth-- }()

	t := v.Type()

	switch {
	case t.Kind() == reflect.Pointer:
		target := reflect.New(t.Elem())
		d.value(node, target.Elem(), path)
		v.Set(target)
	case t == durationType:
		d.duration(node, v, path)
	case reflect.PointerTo(t).Implements(textType):
		d.text(node, v, path)
	default:
		d.kind(node, v, path)
	}
}

func (d *decoder) kind(node *yaml.Node, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Struct:
		d.object(node, v, path)
	case reflect.Map:
		d.mapping(node, v, path)
	case reflect.Slice:
		d.list(node, v, path)
	case reflect.Interface:
		if free := d.free(node, path); free != nil {
			v.Set(reflect.ValueOf(free))
		}
	case reflect.String:
		if d.scalar(node, path, "a string") {
			v.SetString(node.Value)
		}
	default:
		d.library(node, v, path)
	}
}

// library decodes a boolean or a number with the YAML library.
func (d *decoder) library(node *yaml.Node, v reflect.Value, path string) {
	want := wanted(v.Type())

	if !d.scalar(node, path, want) {
		return
	}

	target := reflect.New(v.Type())

	if err := node.Decode(target.Interface()); err != nil {
		hint := ""

		if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			hint = "; remove the quotes"
		}

		d.problem(node, path, "want %s, got %s%s", want, describe(node), hint)

		return
	}

	v.Set(target.Elem())
}

func (d *decoder) duration(node *yaml.Node, v reflect.Value, path string) {
	const want = `a duration such as "30s", "5m" or "8760h"`

	if !d.scalar(node, path, want) {
		return
	}

	duration, err := time.ParseDuration(node.Value)
	if err != nil {
		d.problem(node, path, "want %s, got %s", want, describe(node))

		return
	}

	v.SetInt(int64(duration))
}

func (d *decoder) text(node *yaml.Node, v reflect.Value, path string) {
	if !d.scalar(node, path, "a string") {
		return
	}

	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(node.Value)); err != nil {
		d.problem(node, path, "%s", strings.TrimSpace(err.Error()))
	}
}

func (d *decoder) list(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind == yaml.ScalarNode && v.Type().Implements(oneOrManyType) {
		one := reflect.MakeSlice(v.Type(), 1, 1)
		d.value(node, one.Index(0), path)
		v.Set(one)

		return
	}

	if node.Kind != yaml.SequenceNode {
		d.problem(node, path, "want a list, got %s", describe(node))

		return
	}

	out := reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content))

	for i, item := range node.Content {
		d.value(item, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}

	v.Set(out)
}

func (d *decoder) mapping(node *yaml.Node, v reflect.Value, path string) {
	out := reflect.MakeMap(v.Type())

	for _, p := range d.pairs(node, path) {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(p.value, value, Join(path, p.key.Value))
		out.SetMapIndex(reflect.ValueOf(p.key.Value).Convert(v.Type().Key()), value)
	}

	if node.Kind == yaml.MappingNode {
		v.Set(out)
	}
}

func (d *decoder) object(node *yaml.Node, v reflect.Value, path string) {
	known := Fields(v.Type())

	for _, p := range d.pairs(node, path) {
		field, ok := known[p.key.Value]
		if !ok {
			d.problem(p.key, Join(path, p.key.Value), "unknown key%s", d.suggest(p.key.Value, known))

			continue
		}

		d.value(p.value, v.FieldByIndex(field.Index), Join(path, p.key.Value))
	}
}

// scalar reports whether the node is a scalar, and adds a problem if not.
func (d *decoder) scalar(node *yaml.Node, path, want string) bool {
	if node.Kind == yaml.ScalarNode {
		return true
	}

	d.problem(node, path, "want %s, got %s", want, describe(node))

	return false
}
