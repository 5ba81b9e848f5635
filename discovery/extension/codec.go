// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Raw is an encoded message.
type Raw []byte

// Codec encodes messages as gRPC's own codec does, and lets a Raw pass as it is: a service encodes a change once for all watchers.
type Codec struct{}

// Name implements encoding.CodecV2.
func (Codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case Raw:
		return mem.BufferSlice{mem.SliceBuffer(m)}, nil
	case proto.Message:
		raw, err := proto.Marshal(m)

		return mem.BufferSlice{mem.SliceBuffer(raw)}, err
	default:
		return nil, fmt.Errorf("encode %T: it is not a message", v)
	}
}

// Unmarshal implements encoding.CodecV2.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *Raw:
		*m = data.Materialize()

		return nil
	case proto.Message:
		return proto.Unmarshal(data.Materialize(), m)
	default:
		return fmt.Errorf("decode into %T: it is not a message", v)
	}
}
