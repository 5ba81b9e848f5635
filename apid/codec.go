// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// frame is one message as it was received, undecoded.
type frame struct{ data mem.BufferSlice }

// codec passes frames through. The buffers are reference counted: Unmarshal takes a reference for the frame, and Marshal passes
// it to the connection.
type codec struct{}

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("apid forwards frames, got a %T", v)
	}

	data := f.data
	f.data = nil

	return data, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("apid forwards frames, got a %T", v)
	}

	data.Ref()
	f.data = data

	return nil
}

// Name implements encoding.CodecV2: the content type stays that of protobuf.
func (codec) Name() string { return "proto" }
