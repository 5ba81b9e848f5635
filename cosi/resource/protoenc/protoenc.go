// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"errors"
	"fmt"
	"reflect"
)

// MaxDepth is how deep messages may nest.
const MaxDepth = 100

// Marshaler is a type that encodes itself as a message.
type Marshaler interface{ MarshalProto() ([]byte, error) }

// Unmarshaler is a type that decodes itself from a message.
type Unmarshaler interface{ UnmarshalProto(b []byte) error }

// Check returns nil if values of the struct type can be encoded; otherwise the error names the field that cannot.
func Check(t reflect.Type) error {
	_, err := codecFor(t)

	return err
}

// Marshal encodes a struct, or the struct that v points to. An empty message is nil.
func Marshal(v any) ([]byte, error) {
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}

	c, err := messageCodec(rv)
	if err != nil {
		return nil, err
	}

	b, err := c.append(nil, rv)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", rv.Type(), err)
	}

	if len(b) == 0 {
		return nil, nil
	}

	return b, nil
}

// Unmarshal decodes into the struct that v points to. Fields that are not in the message keep their values.
func Unmarshal(b []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("decode: target is a %T, expected a pointer to a struct", v)
	}

	c, err := messageCodec(rv.Elem())
	if err != nil {
		return err
	}

	if err := c.decode(b, rv.Elem(), MaxDepth); err != nil {
		return fmt.Errorf("decode %s: %w", rv.Elem().Type(), err)
	}

	return nil
}

var errNotMessage = errors.New("not a message: expected a struct")

func messageCodec(v reflect.Value) (*codec, error) {
	if !v.IsValid() {
		return nil, errNotMessage
	}

	c, err := codecFor(v.Type())
	if err != nil {
		return nil, err
	}

	if !c.message {
		return nil, fmt.Errorf("%s: %w", v.Type(), errNotMessage)
	}

	return c, nil
}
