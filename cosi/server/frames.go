// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// The fields of cosi.resource.Event and WatchResponse.
const (
	fieldEvent = 1

	fieldEventType = 2
	fieldOld       = 3
	fieldError     = 4
	fieldBookmark  = 5
)

// frames collects events into messages. Each resource is copied from the encoded bytes of its version.
type frames struct {
	stream watchStream
	old    bool // the client knows neither Bootstrapped nor Errored
	most   int  // bytes that the client accepts
	buf    []byte
}

// envelope is more than an event needs in addition to its resources.
const envelope = 1 << 10

func (f *frames) add(ev *state.Event) error {
	if f.old && (ev.Type == state.Bootstrapped || ev.Type == state.Errored) {
		return nil
	}

	now, before, err := framesOf(ev, f.most)
	if err != nil {
		return err
	}

	if len(f.buf) > 0 && len(f.buf)+len(now)+len(before) > maxMessage {
		if err := f.flush(); err != nil {
			return err
		}
	}

	f.buf = appendEvent(f.buf, ev, now, before)

	return nil
}

// framesOf returns the frames of the versions of an event.
func framesOf(ev *state.Event, most int) (now, before []byte, err error) {
	if now, err = resource.WireFrame(ev.Resource); err != nil {
		return nil, nil, status.Error(codes.Internal, err.Error())
	}

	if ev.Old != nil {
		if before, err = resource.WireFrame(ev.Old); err != nil {
			return nil, nil, status.Error(codes.Internal, err.Error())
		}
	}

	// Without the old version, which the client knows anyway, the client can receive the message.
	if len(now)+len(before)+envelope > most {
		before = nil
	}

	return now, before, nil
}

func appendEvent(b []byte, ev *state.Event, now, before []byte) []byte {
	var reason string
	if ev.Error != nil {
		reason = ev.Error.Error()
	}

	size := len(now) + len(before)
	if ev.Type != state.Created {
		size += protowire.SizeTag(fieldEventType) + protowire.SizeVarint(uint64(ev.Type))
	}

	if ev.Error != nil {
		size += protowire.SizeTag(fieldError) + protowire.SizeBytes(len(reason))
	}

	if ev.Bookmark != nil {
		size += protowire.SizeTag(fieldBookmark) + protowire.SizeBytes(len(ev.Bookmark))
	}

	b = slices.Grow(b, protowire.SizeTag(fieldEvent)+protowire.SizeBytes(size))
	b = protowire.AppendTag(b, fieldEvent, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, now...)

	if ev.Type != state.Created {
		b = protowire.AppendVarint(protowire.AppendTag(b, fieldEventType, protowire.VarintType), uint64(ev.Type))
	}

	if before != nil {
		// The frame is for field 1, whose tag is one byte as well.
		b = protowire.AppendTag(b, fieldOld, protowire.BytesType)
		b = append(b, before[protowire.SizeTag(fieldEvent):]...)
	}

	if ev.Error != nil {
		b = protowire.AppendString(protowire.AppendTag(b, fieldError, protowire.BytesType), reason)
	}

	if ev.Bookmark != nil {
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldBookmark, protowire.BytesType), ev.Bookmark)
	}

	return b
}

func (f *frames) flush() error {
	if len(f.buf) == 0 {
		return nil
	}

	res := responseOf(f.buf)
	f.buf = nil // gRPC may still use the old one

	return f.stream.Send(res)
}

func responseOf(events []byte) *v1alpha1.WatchResponse {
	res := &v1alpha1.WatchResponse{}
	res.ProtoReflect().SetUnknown(events)

	return res
}
