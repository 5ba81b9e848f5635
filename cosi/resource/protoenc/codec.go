// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"encoding"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// codec encodes one Go type as the value of one field. Length-delimited values have no length here.
type codec struct {
	wire    protowire.Type
	message bool // can be a whole message

	// append adds the value.
	append func(b []byte, v reflect.Value) ([]byte, error)
	// decode sets v from the value's bytes, which eachField has checked; depth is how many levels of messages may follow.
	decode func(b []byte, v reflect.Value, depth int) error

	// inspect checks the text in the value and adds to size the bytes that it refers to; nil if it refers to none.
	inspect func(v reflect.Value, size *int) error

	// Repeated values have these instead, which write and read whole fields.
	appendField func(b []byte, num protowire.Number, v reflect.Value) ([]byte, error)
	decodeField func(wire protowire.Type, b []byte, v reflect.Value, depth int) error
}

var (
	codecs   sync.Map // reflect.Type -> *codec or error
	building sync.Mutex
)

func codecFor(t reflect.Type) (*codec, error) {
	found, ok := codecs.Load(t)
	if !ok {
		building.Lock()
		defer building.Unlock()

		b := builder{}

		c, err := b.build(t)
		if err != nil {
			codecs.Store(t, err)

			return nil, err
		}

		for typ, done := range b {
			codecs.Store(typ, done)
		}

		return c, nil
	}

	if err, isErr := found.(error); isErr {
		return nil, err
	}

	return found.(*codec), nil // only codecs and errors are stored
}

// builder has the codecs being built, because a type may contain itself.
type builder map[reflect.Type]*codec

func (b builder) build(t reflect.Type) (*codec, error) {
	if c, ok := b[t]; ok {
		return c, nil
	}

	c := &codec{}
	b[t] = c

	if err := b.fill(c, t); err != nil {
		return nil, err
	}

	return c, nil
}

var (
	typeMarshaler         = reflect.TypeFor[Marshaler]()
	typeUnmarshaler       = reflect.TypeFor[Unmarshaler]()
	typeBinaryMarshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	typeBinaryUnmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

func (b builder) fill(c *codec, t reflect.Type) error {
	ptr := reflect.PointerTo(t)

	switch {
	case t.Kind() != reflect.Pointer && ptr.Implements(typeMarshaler) && ptr.Implements(typeUnmarshaler):
		*c = ownMessage
	case t == reflect.TypeFor[time.Time]():
		*c = timestamp
	case t == reflect.TypeFor[time.Duration]():
		*c = duration
	case t == reflect.TypeFor[netip.Addr]():
		*c = addr
	case t == reflect.TypeFor[netip.AddrPort]():
		*c = addrPort
	case t == reflect.TypeFor[netip.Prefix]():
		*c = prefix
	case t == reflect.TypeFor[url.URL]():
		*c = urlPath
	case t == reflect.TypeFor[map[string]any]():
		*c = structValue
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		*c = anyValue()
	case t.Kind() != reflect.Pointer && ptr.Implements(typeBinaryMarshaler) && ptr.Implements(typeBinaryUnmarshaler):
		*c = binary
	default:
		return b.fillKind(c, t)
	}

	return nil
}

func (b builder) fillKind(c *codec, t reflect.Type) error {
	switch t.Kind() { // other kinds are refused
	case reflect.Bool:
		*c = boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		*c = signed
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		*c = unsigned
	case reflect.Float32:
		*c = float32Codec
	case reflect.Float64:
		*c = float64Codec
	case reflect.String:
		*c = text
	case reflect.Struct:
		return b.fillStruct(c, t)
	case reflect.Pointer:
		return b.fillPointer(c, t)
	case reflect.Map:
		return b.fillMap(c, t)
	case reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			return fmt.Errorf("type %s has no protobuf form", t)
		}

		*c = byteArray
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			*c = byteSlice

			return nil
		}

		return b.fillList(c, t)
	default:
		return fmt.Errorf("type %s has no protobuf form", t)
	}

	return nil
}

// appendLengthDelimited adds a length and the value that put adds.
func appendLengthDelimited(b []byte, put func([]byte) ([]byte, error)) ([]byte, error) {
	const room = 1 // byte for the length: most messages are shorter than 128 bytes

	start := len(b)

	b, err := put(append(b, 0))
	if err != nil {
		return nil, err
	}

	n := len(b) - start - room
	need := protowire.SizeVarint(uint64(n))

	for range need - room {
		b = append(b, 0)
	}

	if need > room {
		copy(b[start+need:], b[start+room:start+room+n])
	}

	protowire.AppendVarint(b[start:start:start+need], uint64(n))

	return b, nil
}

// appendValue adds the value in the form that follows a tag.
func (c *codec) appendValue(b []byte, v reflect.Value) ([]byte, error) {
	if c.wire != protowire.BytesType {
		return c.append(b, v)
	}

	return appendLengthDelimited(b, func(b []byte) ([]byte, error) { return c.append(b, v) })
}

// writeField adds tag and value.
func (c *codec) writeField(b []byte, num protowire.Number, v reflect.Value) ([]byte, error) {
	if c.appendField != nil {
		return c.appendField(b, num, v)
	}

	return c.appendValue(protowire.AppendTag(b, num, c.wire), v)
}

// readField sets v from a field's value; b holds a length-delimited value without its length.
func (c *codec) readField(wire protowire.Type, b []byte, v reflect.Value, depth int) error {
	if c.decodeField != nil {
		return c.decodeField(wire, b, v, depth)
	}

	if wire != c.wire {
		return fmt.Errorf("wire type is %d, expected %d", wire, c.wire)
	}

	if c.message {
		if depth--; depth < 0 {
			return fmt.Errorf("messages nest deeper than %d", MaxDepth)
		}
	}

	return c.decode(b, v, depth)
}

// eachField calls fn for each field of a message; a length-delimited value comes without its length.
func eachField(b []byte, fn func(num protowire.Number, wire protowire.Type, value []byte) error) error {
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("field tag: %w", protowire.ParseError(n))
		}

		b = b[n:]

		size := protowire.ConsumeFieldValue(num, wire, b)
		if size < 0 {
			return fmt.Errorf("field %d: %w", num, protowire.ParseError(size))
		}

		value := b[:size]
		b = b[size:]

		if wire == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}

		if err := fn(num, wire, value); err != nil {
			return err
		}
	}

	return nil
}
