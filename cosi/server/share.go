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

// shared is the answers made last, for the watches that are told of the same change at about the same time: each is put
// together once for all of them, and nobody changes it. Only changes are shared, and none that is large, so that little is
// kept.
type shared struct {
	recent [sharedCount]atomic.Pointer[sharedResponse]
	next   atomic.Uint32
}

const (
	sharedCount = 8
	sharedBytes = 64 << 10
)

// sharedResponse is an answer, and what it was made of.
type sharedResponse struct {
	of  change
	res *v1alpha1.WatchResponse
}

// change is what two watches are told alike. Versions never change, and are told apart by where they are, as are bookmarks:
// who may see less of a resource is told of another version. What is compared is kept from being freed, so that its place is
// not taken by others.
type change struct {
	now, old resource.Resource // pointers
	bookmark *byte
	length   int // of the bookmark
	typ      state.EventType
	most     int
}

// sharable reports whether the event is a change of what is told apart by where it is.
func sharable(ev *state.Event) bool {
	return ev.Type <= state.Destroyed && ev.Error == nil && isPlace(ev.Resource) && (ev.Old == nil || isPlace(ev.Old))
}

func isPlace(r resource.Resource) bool {
	return reflect.TypeOf(r).Kind() == reflect.Pointer && r.Metadata().Sealed()
}

// response returns the answer for one change.
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
