// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

var boolean = codec{
	wire: protowire.VarintType,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		return protowire.AppendVarint(b, protowire.EncodeBool(v.Bool())), nil
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		x, _ := protowire.ConsumeVarint(b)
		v.SetBool(x != 0)

		return nil
	},
}

var signed = codec{
	wire: protowire.VarintType,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		return protowire.AppendVarint(b, uint64(v.Int())), nil
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		x, _ := protowire.ConsumeVarint(b)
		if v.OverflowInt(int64(x)) {
			return fmt.Errorf("number %d is out of range of %s", int64(x), v.Type())
		}

		v.SetInt(int64(x))

		return nil
	},
}

var unsigned = codec{
	wire: protowire.VarintType,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		return protowire.AppendVarint(b, v.Uint()), nil
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		x, _ := protowire.ConsumeVarint(b)
		if v.OverflowUint(x) {
			return fmt.Errorf("number %d is out of range of %s", x, v.Type())
		}

		v.SetUint(x)

		return nil
	},
}

var float32Codec = codec{
	wire: protowire.Fixed32Type,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		return protowire.AppendFixed32(b, math.Float32bits(float32(v.Float()))), nil
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		x, _ := protowire.ConsumeFixed32(b)
		v.SetFloat(float64(math.Float32frombits(x)))

		return nil
	},
}

var float64Codec = codec{
	wire: protowire.Fixed64Type,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		return protowire.AppendFixed64(b, math.Float64bits(v.Float())), nil
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		x, _ := protowire.ConsumeFixed64(b)
		v.SetFloat(math.Float64frombits(x))

		return nil
	},
}

var text = codec{
	wire: protowire.BytesType,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		s := v.String()

		return append(b, s...), checkText(s)
	},
	inspect: func(v reflect.Value, size *int) error {
		s := v.String()
		*size += len(s)

		return checkText(s)
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		s := string(b)
		v.SetString(s)

		return checkText(s)
	},
}

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("string %q is not UTF-8", s)
	}

	return nil
}

var byteSlice = codec{
	wire:   protowire.BytesType,
	append: func(b []byte, v reflect.Value) ([]byte, error) { return append(b, v.Bytes()...), nil },
	inspect: func(v reflect.Value, size *int) error {
		*size += v.Len()

		return nil
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		v.SetBytes(append([]byte{}, b...))

		return nil
	},
}

var byteArray = codec{
	wire: protowire.BytesType,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		for i := range v.Len() {
			b = append(b, byte(v.Index(i).Uint()))
		}

		return b, nil
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		if len(b) != v.Len() {
			return fmt.Errorf("%d bytes, expected %d", len(b), v.Len())
		}

		for i := range b {
			v.Index(i).SetUint(uint64(b[i]))
		}

		return nil
	},
}

// addressable returns a pointer to v, or to a copy of it.
func addressable(v reflect.Value) any {
	if v.CanAddr() {
		return v.Addr().Interface()
	}

	p := reflect.New(v.Type())
	p.Elem().Set(v)

	return p.Interface()
}

var binary = codec{
	wire: protowire.BytesType,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		raw, err := addressable(v).(encoding.BinaryMarshaler).MarshalBinary()

		return append(b, raw...), err
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		return v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(append([]byte{}, b...))
	},
}

var ownMessage = codec{
	wire: protowire.BytesType, message: true,
	append: func(b []byte, v reflect.Value) ([]byte, error) {
		raw, err := addressable(v).(Marshaler).MarshalProto()

		return append(b, raw...), err
	},
	decode: func(b []byte, v reflect.Value, _ int) error {
		return v.Addr().Interface().(Unmarshaler).UnmarshalProto(append([]byte{}, b...))
	},
}
