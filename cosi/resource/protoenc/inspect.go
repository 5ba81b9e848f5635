// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"fmt"
	"reflect"
)

// Inspect estimates the memory of a struct, or of the struct that v points to, and of everything it refers to, except types
// that encode themselves. Text that is not UTF-8, which a protobuf string cannot hold, is an error.
func Inspect(v any) (size int, err error) {
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}

	c, err := messageCodec(rv)
	if err != nil {
		return 0, err
	}

	size = int(rv.Type().Size())

	return size, c.inspectValue(rv, &size)
}

func (c *codec) inspectValue(v reflect.Value, size *int) error {
	if c.inspect == nil {
		return nil
	}

	return c.inspect(v, size)
}

func inspectFields(fields []field, v reflect.Value, size *int) error {
	for i := range fields {
		f := &fields[i]
		if f.codec.inspect == nil {
			continue
		}

		if err := f.codec.inspect(v.FieldByIndex(f.index), size); err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
	}

	return nil
}

func (c *codec) inspectList(v reflect.Value, size *int) error {
	n := v.Len()
	*size += n * int(v.Type().Elem().Size())

	if c.inspect == nil {
		return nil
	}

	for i := range n {
		if err := c.inspect(v.Index(i), size); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}

	return nil
}

func inspectMap(v reflect.Value, key, elem *codec, size *int) error {
	const slot = 16 // overhead of a map for each entry

	*size += v.Len() * (slot + int(v.Type().Key().Size()+v.Type().Elem().Size()))

	if key.inspect == nil && elem.inspect == nil {
		return nil
	}

	for it := v.MapRange(); it.Next(); {
		if err := key.inspectValue(it.Key(), size); err != nil {
			return fmt.Errorf("key: %w", err)
		}

		if err := elem.inspectValue(it.Value(), size); err != nil {
			return fmt.Errorf("key %v: %w", it.Key(), err)
		}
	}

	return nil
}

// inspectAny inspects a value that fits a google.protobuf.Value.
func inspectAny(v reflect.Value, size *int) error {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}

	switch v.Kind() { // other kinds refer to no memory
	case reflect.String:
		return text.inspect(v, size)
	case reflect.Slice:
		return (&codec{inspect: inspectAny}).inspectList(v, size)
	case reflect.Map:
		free := &codec{inspect: inspectAny}

		return inspectMap(v, free, free, size)
	default:
		return nil
	}
}
