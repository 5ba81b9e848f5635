// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

type field struct {
	num   protowire.Number
	name  string
	index []int
	codec *codec
}

func (b builder) fillStruct(c *codec, t reflect.Type) error {
	var fields []field

	if err := b.fields(&fields, t, nil); err != nil {
		return err
	}

	slices.SortFunc(fields, func(x, y field) int { return int(x.num) - int(y.num) })

	byNum := make(map[protowire.Number]*field, len(fields))

	for i := range fields {
		f := &fields[i]
		if other, taken := byNum[f.num]; taken {
			return fmt.Errorf("fields %s and %s of %s have the same number %d", other.name, f.name, t, f.num)
		}

		byNum[f.num] = f
	}

	if len(fields) == 0 && t.NumField() > 0 {
		return fmt.Errorf("type %s has no protobuf form: no field has a protobuf tag", t)
	}

	*c = codec{
		wire: protowire.BytesType, message: true,
		append: func(b []byte, v reflect.Value) ([]byte, error) { return appendFields(b, fields, v) },
		decode: func(b []byte, v reflect.Value, depth int) error { return decodeFields(b, byNum, v, depth) },
	}

	if len(fields) > 0 {
		c.inspect = func(v reflect.Value, size *int) error { return inspectFields(fields, v, size) }
	}

	return nil
}

// fields collects the tagged fields of a struct and of those embedded in it.
func (b builder) fields(out *[]field, t reflect.Type, path []int) error {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(slices.Clip(path), i)

		tag, tagged := sf.Tag.Lookup("protobuf")
		if !tagged {
			if sf.Anonymous && sf.Type.Kind() == reflect.Struct {
				if err := b.fields(out, sf.Type, index); err != nil {
					return err
				}
			}

			continue
		}

		name := t.Name() + "." + sf.Name

		num, err := strconv.ParseInt(strings.Split(tag, ",")[0], 10, 32)
		if err != nil || !protowire.Number(num).IsValid() {
			return fmt.Errorf("field %s has the tag protobuf:%q, expected a field number", name, tag)
		}

		if !sf.IsExported() {
			return fmt.Errorf("field %s has a protobuf tag but is not exported", name)
		}

		c, err := b.build(sf.Type)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}

		*out = append(*out, field{num: protowire.Number(num), name: sf.Name, index: index, codec: c})
	}

	return nil
}

func appendFields(b []byte, fields []field, v reflect.Value) ([]byte, error) {
	for i := range fields {
		f := &fields[i]

		fv := v.FieldByIndex(f.index)
		if absent(fv) {
			continue
		}

		var err error
		if b, err = f.codec.writeField(b, f.num, fv); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
	}

	return b, nil
}

func absent(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}

	return v.IsZero()
}

func decodeFields(b []byte, fields map[protowire.Number]*field, v reflect.Value, depth int) error {
	return eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) error {
		f, known := fields[num]
		if !known {
			return nil
		}

		if err := f.codec.readField(wire, value, v.FieldByIndex(f.index), depth); err != nil {
			return fmt.Errorf("field %s (%d): %w", f.name, num, err)
		}

		return nil
	})
}

func (b builder) fillPointer(c *codec, t reflect.Type) error {
	elem, err := b.build(t.Elem())
	if err != nil {
		return err
	}

	if t.Elem().Kind() == reflect.Pointer || t.Elem().Kind() == reflect.Slice || t.Elem().Kind() == reflect.Map {
		return fmt.Errorf("type %s has no protobuf form", t)
	}

	*c = codec{
		appendField: func(b []byte, num protowire.Number, v reflect.Value) ([]byte, error) {
			if v.IsNil() {
				// Only an element of a list or map can be nil here: it is written as an empty value.
				v = reflect.New(t.Elem())
			}

			return elem.writeField(b, num, v.Elem())
		},
		decodeField: func(wire protowire.Type, b []byte, v reflect.Value, depth int) error {
			if v.IsNil() {
				v.Set(reflect.New(t.Elem()))
			}

			return elem.readField(wire, b, v.Elem(), depth)
		},
		inspect: func(v reflect.Value, size *int) error {
			if v.IsNil() {
				return nil
			}

			*size += int(t.Elem().Size())

			return elem.inspectValue(v.Elem(), size)
		},
	}

	return nil
}
