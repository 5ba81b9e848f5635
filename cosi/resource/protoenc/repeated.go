// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

func (b builder) fillList(c *codec, t reflect.Type) error {
	elem, err := b.build(t.Elem())
	if err != nil {
		return err
	}

	switch t.Elem().Kind() { // other kinds may be elements
	case reflect.Map:
		if t.Elem() != reflect.TypeFor[map[string]any]() {
			return fmt.Errorf("type %s has no protobuf form", t)
		}
	case reflect.Slice:
		if t.Elem().Elem().Kind() != reflect.Uint8 {
			return fmt.Errorf("type %s has no protobuf form", t)
		}
	}

	*c = codec{
		appendField: func(b []byte, num protowire.Number, v reflect.Value) ([]byte, error) {
			return elem.appendList(b, num, v)
		},
		decodeField: func(wire protowire.Type, b []byte, v reflect.Value, depth int) error {
			return elem.decodeList(wire, b, v, depth)
		},
		inspect: elem.inspectList,
	}

	return nil
}

// packed reports whether a list of the type is packed: numbers are. It is evaluated late, because the codec of a recursive
// type is filled last.
func (c *codec) packed() bool { return c.append != nil && c.wire != protowire.BytesType }

func (c *codec) appendList(b []byte, num protowire.Number, v reflect.Value) ([]byte, error) {
	var err error

	if c.packed() && v.Len() > 0 {
		return appendLengthDelimited(protowire.AppendTag(b, num, protowire.BytesType), func(b []byte) ([]byte, error) {
			for i := range v.Len() {
				if b, err = c.append(b, v.Index(i)); err != nil {
					return nil, err
				}
			}

			return b, nil
		})
	}

	for i := range v.Len() {
		if b, err = c.writeField(b, num, v.Index(i)); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}

	return b, nil
}

func (c *codec) decodeList(wire protowire.Type, b []byte, v reflect.Value, depth int) error {
	if c.packed() && wire == protowire.BytesType {
		for len(b) > 0 {
			n := protowire.ConsumeFieldValue(1, c.wire, b)
			if n < 0 {
				return protowire.ParseError(n)
			}

			if err := c.decodeElement(c.wire, b[:n], v, depth); err != nil {
				return err
			}

			b = b[n:]
		}

		return nil
	}

	return c.decodeElement(wire, b, v, depth)
}

func (c *codec) decodeElement(wire protowire.Type, b []byte, v reflect.Value, depth int) error {
	n := v.Len()
	v.Grow(1)
	v.SetLen(n + 1)
	v.Index(n).SetZero()

	if err := c.readField(wire, b, v.Index(n), depth); err != nil {
		return fmt.Errorf("element %d: %w", n, err)
	}

	return nil
}

// A map is a list of entries {1 key, 2 value}.
func (b builder) fillMap(c *codec, t reflect.Type) error {
	key, err := b.build(t.Key())
	if err != nil {
		return err
	}

	switch t.Key().Kind() { // other kinds are refused
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	default:
		return fmt.Errorf("type %s has no protobuf form: a key is a string, a number or a bool", t)
	}

	elem, err := b.build(t.Elem())
	if err != nil {
		return err
	}

	if k := t.Elem().Kind(); k == reflect.Slice && t.Elem().Elem().Kind() != reflect.Uint8 {
		return fmt.Errorf("type %s has no protobuf form: wrap the list in a struct", t)
	}

	*c = codec{
		appendField: func(b []byte, num protowire.Number, v reflect.Value) ([]byte, error) {
			return appendMap(b, num, v, key, elem)
		},
		decodeField: func(wire protowire.Type, b []byte, v reflect.Value, depth int) error {
			return decodeEntry(wire, b, v, key, elem, depth)
		},
		inspect: func(v reflect.Value, size *int) error { return inspectMap(v, key, elem, size) },
	}

	return nil
}

func appendMap(b []byte, num protowire.Number, v reflect.Value, key, elem *codec) ([]byte, error) {
	keys := v.MapKeys()
	slices.SortFunc(keys, compareKeys)

	for _, k := range keys {
		var err error

		b, err = appendLengthDelimited(protowire.AppendTag(b, num, protowire.BytesType), func(b []byte) ([]byte, error) {
			if b, err = key.writeField(b, 1, k); err != nil {
				return nil, err
			}

			return elem.writeField(b, 2, v.MapIndex(k))
		})
		if err != nil {
			return nil, fmt.Errorf("key %v: %w", k, err)
		}
	}

	return b, nil
}

func compareKeys(a, b reflect.Value) int {
	switch {
	case a.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String())
	case a.Kind() == reflect.Bool:
		return int(protowire.EncodeBool(a.Bool())) - int(protowire.EncodeBool(b.Bool()))
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	default:
		return cmp.Compare(a.Uint(), b.Uint())
	}
}

func decodeEntry(wire protowire.Type, b []byte, v reflect.Value, key, elem *codec, depth int) error {
	if wire != protowire.BytesType {
		return fmt.Errorf("wire type is %d, expected %d", wire, protowire.BytesType)
	}

	if depth--; depth < 0 {
		return fmt.Errorf("messages nest deeper than %d", MaxDepth)
	}

	k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()

	err := eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) (err error) {
		switch num {
		case 1:
			err = key.readField(wire, value, k, depth)
		case 2:
			err = elem.readField(wire, value, e, depth)
		}

		if err != nil {
			return fmt.Errorf("entry %v: %w", k, err)
		}

		return nil
	})
	if err != nil {
		return err
	}

	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}

	v.SetMapIndex(k, e)

	return nil
}
