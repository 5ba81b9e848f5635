// SPDX-License-Identifier: Apache-2.0

package server

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// shared keeps the last messages, for watches that receive the same change at about the same time: a message is built once
// for all of them, and never changed. Only small messages of single changes are kept, to limit memory.
type shared struct {
	recent [sharedCount]atomic.Pointer[sharedResponse]
	next   atomic.Uint32
}

const (
	sharedCount = 8
	sharedBytes = 64 << 10
)

// sharedResponse is a message with the change that it was built from.
type sharedResponse struct {
	of  change
	res *v1alpha1.WatchResponse
}

// change identifies a message: watches with an equal change receive the same message. Versions never change, so versions and
// bookmarks are compared by address. A client that may see less of a resource receives another version, so another message.
// The pointers here keep the memory from being freed and its address from being reused.
type change struct {
	now, old resource.Resource // pointers
	bookmark *byte
	length   int // of the bookmark
	typ      state.EventType
	most     int
}

// sharable reports whether the event is a change of resources that can be compared by address.
func sharable(ev *state.Event) bool {
	return ev.Type <= state.Destroyed && ev.Error == nil && isPlace(ev.Resource) && (ev.Old == nil || isPlace(ev.Old))
}

func isPlace(r resource.Resource) bool {
	return reflect.TypeOf(r).Kind() == reflect.Pointer && r.Metadata().Sealed()
}

// response returns the message for one change.
func (s *shared) response(ev *state.Event, most int) (*v1alpha1.WatchResponse, error) {
	of := change{
		now: ev.Resource, old: ev.Old, typ: ev.Type, most: most,
		bookmark: unsafe.SliceData(ev.Bookmark), length: len(ev.Bookmark),
	}

	for i := range s.recent {
		if known := s.recent[i].Load(); known != nil && known.of == of {
			return known.res, nil
		}
	}

	now, before, err := framesOf(ev, most)
	if err != nil {
		return nil, err
	}

	b := appendEvent(nil, ev, now, before)
	res := responseOf(b)

	if len(b) <= sharedBytes {
		s.recent[s.next.Add(1)%sharedCount].Store(&sharedResponse{of: of, res: res})
	}

	return res, nil
}
