// SPDX-License-Identifier: Apache-2.0

package server

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
)

// Codec encodes messages as gRPC's own codec does, except that the answers of this service, which contain encoded resources,
// are sent without being copied for each client. The service works with other codecs too. A server with a codec of its own
// wraps this one.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

type codec struct{ encoding.CodecV2 }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b := encodedIn(v); b != nil {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil // which gRPC does not change, and does not reuse
	}

	return c.CodecV2.Marshal(v)
}

// encodedIn returns the bytes of an answer that has only encoded parts, nil for any other message.
func encodedIn(v any) []byte {
	var (
		m     protoreflect.Message
		plain bool
	)

	switch v := v.(type) {
	case *v1alpha1.WatchResponse:
		m, plain = v.ProtoReflect(), len(v.GetEvent()) > 0
	case *v1alpha1.ListResponse:
		m, plain = v.ProtoReflect(), v.GetResource() != nil
	case *v1alpha1.GetResponse:
		m, plain = v.ProtoReflect(), v.GetResource() != nil
	}

	if m == nil || plain {
		return nil
	}

	return m.GetUnknown()
}
