// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/config"
	cosiserver "github.com/seed-59268b81/talos/cosi/server"
)

const (
	// maxRequest is the largest message of a caller, in bytes: a configuration and the fields around it, or a chunk of a file.
	maxRequest = config.MaxSize + 64<<10
	// maxHeader is the largest metadata of a call, in bytes.
	maxHeader = 64 << 10
	// maxSmall is the limit of messages that are not listed in sizes. A decoded message may take fifty times its bytes: an empty
	// element of a list has two bytes.
	maxSmall = 16 << 10
)

// sizes are the limits of larger messages. Most consist of one bytes field, which takes no more memory when it is decoded.
var sizes = map[protoreflect.FullName]int{
	nameOf(&machine.ApplyConfigurationRequest{}): maxRequest,
	nameOf(&common.Data{}):                       maxRequest,
	nameOf(&machine.ImageServiceImportRequest{}): maxRequest,
	nameOf(&machine.DebugContainerRunRequest{}):  256 << 10,
	nameOf(&machine.MetaWriteRequest{}):          256 << 10,
	nameOf(&securityapi.CertificateRequest{}):    32 << 10, // the limit of trustd
	nameOf(&machine.PacketCaptureRequest{}):      64 << 10, // the kernel accepts filters of up to 4096 instructions
}

func nameOf(m proto.Message) protoreflect.FullName { return m.ProtoReflect().Descriptor().FullName() }

// sizedCodec refuses to decode messages over the limit of their type.
type sizedCodec struct{ encoding.CodecV2 }

func newSizedCodec() sizedCodec { return sizedCodec{cosiserver.Codec()} }

// Unmarshal implements encoding.CodecV2.
func (c sizedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	limit := maxSmall

	if m, ok := v.(proto.Message); ok {
		if n, listed := sizes[nameOf(m)]; listed {
			limit = n
		}
	}

	if data.Len() > limit {
		return fmt.Errorf("the message has %d bytes, the limit of its type is %d", data.Len(), limit)
	}

	return c.CodecV2.Unmarshal(data, v)
}
