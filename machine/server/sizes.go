// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	_ "google.golang.org/grpc/encoding/proto" // the codec that is bounded

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/config"
)

const (
	// maxRequest is what one message of a caller may have, in bytes: a configuration and what is around it, or a piece of a
	// file.
	maxRequest = config.MaxSize + 64<<10
	// maxHeader is the size of a call's metadata, in bytes.
	maxHeader = 64 << 10
	// maxSmall is for all messages that are not listed in sizes. In memory a message may take fifty times its bytes: two
	// bytes are an empty element of a list.
	maxSmall = 16 << 10
)

// sizes are the messages that may be larger. The bytes of most are one field, which takes no more room when it is decoded.
var sizes = map[protoreflect.FullName]int{
	nameOf(&machine.ApplyConfigurationRequest{}): maxRequest,
	nameOf(&common.Data{}):                       maxRequest,
	nameOf(&machine.ImageServiceImportRequest{}): maxRequest,
	nameOf(&machine.DebugContainerRunRequest{}):  256 << 10,
	nameOf(&machine.MetaWriteRequest{}):          256 << 10,
	nameOf(&securityapi.CertificateRequest{}):    32 << 10, // what trustd lets through
	nameOf(&machine.PacketCaptureRequest{}):      64 << 10, // the kernel takes 4096 instructions of a filter
}

func nameOf(m proto.Message) protoreflect.FullName { return m.ProtoReflect().Descriptor().FullName() }

// sizedCodec decodes no message that is larger than its kind may be.
type sizedCodec struct{ encoding.CodecV2 }

func newSizedCodec() sizedCodec { return sizedCodec{encoding.GetCodecV2("proto")} }

// Unmarshal implements encoding.CodecV2.
func (c sizedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	limit := maxSmall

	if m, ok := v.(proto.Message); ok {
		if n, listed := sizes[nameOf(m)]; listed {
			limit = n
		}
	}

	if data.Len() > limit {
		return fmt.Errorf("a message of %d bytes: more than the %d that one of its kind may have", data.Len(), limit)
	}

	return c.CodecV2.Unmarshal(data, v)
}
