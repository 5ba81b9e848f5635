// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// structValue is map[string]any as google.protobuf.Struct.
var structValue = codec{
	wire: protowire.BytesType, message: true,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		return appendStruct(b, v.Interface().(map[string]any))
	},
	decode: func(b []byte, v reflect.Value, depth int) error {
		m := map[string]any{}
		if !v.IsNil() {
			m = v.Interface().(map[string]any)
		}

		if err := decodeStruct(b, m, depth); err != nil {
			return err
		}

		v.Set(reflect.ValueOf(m))

		return nil
	},
	inspect: inspectAny,
}

// anyValue is any as google.protobuf.Value.
func anyValue() codec {
	return codec{
		wire: protowire.BytesType, message: true,
		append: func(b []byte, v reflect.Value) ([]byte, error) { return appendAny(b, v.Interface()) },
		decode: func(b []byte, v reflect.Value, depth int) error {
			x, err := decodeAny(b, depth)
			if err != nil {
				return err
			}

			v.SetZero()

			if x != nil {
				v.Set(reflect.ValueOf(x))
			}

			return nil
		},
		inspect: inspectAny,
	}
}

// The fields of google.protobuf.Value.
const (
	valueNull protowire.Number = iota + 1
	valueNumber
	valueString
	valueBool
	valueStruct
	valueList
)

func appendStruct(b []byte, m map[string]any) ([]byte, error) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		var err error

		b, err = appendLengthDelimited(protowire.AppendTag(b, 1, protowire.BytesType), func(b []byte) ([]byte, error) {
			if err := checkText(k); err != nil {
				return nil, err
			}

			b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), k)

			return appendLengthDelimited(protowire.AppendTag(b, 2, protowire.BytesType), func(b []byte) ([]byte, error) {
				return appendAny(b, m[k])
			})
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
	}

	return b, nil
}

func appendAny(b []byte, x any) ([]byte, error) {
	nested := func(num protowire.Number, put func([]byte) ([]byte, error)) ([]byte, error) {
		return appendLengthDelimited(protowire.AppendTag(b, num, protowire.BytesType), put)
	}

	if x == nil {
		return protowire.AppendVarint(protowire.AppendTag(b, valueNull, protowire.VarintType), 0), nil
	}

	switch v := reflect.ValueOf(x); {
	case v.Kind() == reflect.Bool:
		return protowire.AppendVarint(protowire.AppendTag(b, valueBool, protowire.VarintType), protowire.EncodeBool(v.Bool())), nil
	case v.CanInt():
		return appendNumber(b, float64(v.Int())), nil
	case v.CanUint():
		return appendNumber(b, float64(v.Uint())), nil
	case v.CanFloat():
		return appendNumber(b, v.Float()), nil
	case v.Kind() == reflect.String:
		if err := checkText(v.String()); err != nil {
			return nil, err
		}

		return protowire.AppendString(protowire.AppendTag(b, valueString, protowire.BytesType), v.String()), nil
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			m[it.Key().String()] = it.Value().Interface()
		}

		return nested(valueStruct, func(b []byte) ([]byte, error) { return appendStruct(b, m) })
	case v.Kind() == reflect.Slice:
		return nested(valueList, func(b []byte) ([]byte, error) {
			for i := range v.Len() {
				var err error

				b, err = appendLengthDelimited(protowire.AppendTag(b, 1, protowire.BytesType), func(b []byte) ([]byte, error) {
					return appendAny(b, v.Index(i).Interface())
				})
				if err != nil {
					return nil, fmt.Errorf("element %d: %w", i, err)
				}
			}

			return b, nil
		})
	default:
		return nil, fmt.Errorf("a google.protobuf.Value cannot hold a %T", x)
	}
}

func appendNumber(b []byte, f float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, valueNumber, protowire.Fixed64Type), math.Float64bits(f))
}

func decodeStruct(b []byte, into map[string]any, depth int) error {
	entry := anyValue()

	return eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) error {
		if num != 1 {
			return nil
		}

		return decodeEntry(wire, value, reflect.ValueOf(into), &text, &entry, depth)
	})
}

func decodeAny(b []byte, depth int) (x any, err error) {
	if depth < 0 {
		return nil, fmt.Errorf("values nest deeper than %d", MaxDepth)
	}

	err = eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) (err error) {
		switch {
		case num == valueNull && wire == protowire.VarintType:
			x = nil
		case num == valueNumber && wire == protowire.Fixed64Type:
			bits, _ := protowire.ConsumeFixed64(value)
			x = math.Float64frombits(bits)
		case num == valueString && wire == protowire.BytesType:
			s := string(value)
			x, err = s, checkText(s)
		case num == valueBool && wire == protowire.VarintType:
			bit, _ := protowire.ConsumeVarint(value)
			x = bit != 0
		case num == valueStruct && wire == protowire.BytesType:
			m := map[string]any{}
			x, err = m, decodeStruct(value, m, depth-1)
		case num == valueList && wire == protowire.BytesType:
			x, err = decodeAnyList(value, depth-1)
		case num >= valueNull && num <= valueList:
			err = fmt.Errorf("field %d has wire type %d", num, wire)
		}

		return err
	})

	return x, err
}

func decodeAnyList(b []byte, depth int) ([]any, error) {
	list := []any{}

	err := eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) error {
		if num != 1 {
			return nil
		}

		if wire != protowire.BytesType {
			return fmt.Errorf("element %d has wire type %d", len(list), wire)
		}

		x, err := decodeAny(value, depth-1)
		if err != nil {
			return fmt.Errorf("element %d: %w", len(list), err)
		}

		list = append(list, x)

		return nil
	})

	return list, err
}
