// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/internal/wire"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestShared: equal changes are one message, and any difference results in another message.
func TestShared(t *testing.T) {
	version := func(value string) resource.Resource {
		r := conformance.NewItem("n", "a", value)
		r.Metadata().Seal()

		return r
	}

	var s shared

	old, now := version("old"), version("now")
	place := state.Bookmark{1, 2}
	ev := state.Event{Type: state.Updated, Resource: now, Old: old, Bookmark: place}

	first, err := s.response(&ev, wire.DefaultMessage)
	if err != nil {
		t.Fatal(err)
	}

	again := ev
	if got, err := s.response(&again, wire.DefaultMessage); err != nil || got != first {
		t.Errorf("the same change is another message (%v)", err)
	}

	for name, change := range map[string]func(ev *state.Event, most *int){
		"another version, as a client with less access sees it": func(ev *state.Event, _ *int) { ev.Resource = version("***") },
		"another version before":                                func(ev *state.Event, _ *int) { ev.Old = version("***") },
		"no version before":                                     func(ev *state.Event, _ *int) { ev.Old = nil },
		"another type, as to a filter":                          func(ev *state.Event, _ *int) { ev.Type = state.Created },
		"another place":                                         func(ev *state.Event, _ *int) { ev.Bookmark = state.Bookmark{3} },
		"no place":                                              func(ev *state.Event, _ *int) { ev.Bookmark = nil },
		"a part of the place":                                   func(ev *state.Event, _ *int) { ev.Bookmark = place[:1] },
		"a client that takes less":                              func(_ *state.Event, most *int) { *most = envelope },
	} {
		ev, most := ev, wire.DefaultMessage
		change(&ev, &most)

		got, err := s.response(&ev, most)
		if err != nil {
			t.Fatal(err)
		}

		if proto.Equal(got, first) {
			t.Errorf("%s: got the message of the first change", name)
		}
	}

	// No message is kept for long, and no large one is kept at all.
	for range 2 * sharedCount {
		if _, err := s.response(&state.Event{Type: state.Created, Resource: version("x")}, wire.DefaultMessage); err != nil {
			t.Fatal(err)
		}
	}

	if got, err := s.response(&ev, wire.DefaultMessage); err != nil || got == first || !proto.Equal(got, first) {
		t.Errorf("an old change: got the kept message, or another text (%v)", err)
	}

	large := state.Event{Type: state.Created, Resource: version(string(make([]byte, sharedBytes)))}

	kept, err := s.response(&large, wire.DefaultMessage)
	if err != nil {
		t.Fatal(err)
	}

	if got, err := s.response(&large, wire.DefaultMessage); err != nil || got == kept {
		t.Errorf("a large message is kept (%v)", err)
	}
}

// TestSharable: a resource that may still change, or is compared by its contents, is not shared.
func TestSharable(t *testing.T) {
	open := conformance.NewItem("n", "a", "v")

	sealed := conformance.NewItem("n", "a", "v")
	sealed.Metadata().Seal()

	for name, tt := range map[string]struct {
		ev   state.Event
		want bool
	}{
		"a version":               {state.Event{Resource: sealed}, true},
		"an update":               {state.Event{Type: state.Updated, Resource: sealed, Old: sealed}, true},
		"unsealed resource":       {state.Event{Resource: open}, false},
		"unsealed old version":    {state.Event{Type: state.Updated, Resource: sealed, Old: open}, false},
		"a value":                 {state.Event{Resource: value{sealed}}, false},
		"an error":                {state.Event{Type: state.Errored, Resource: sealed}, false},
		"the end of a bootstrap":  {state.Event{Type: state.Bootstrapped, Resource: sealed}, false},
		"a sign of life, no news": {state.Event{Type: state.Noop, Resource: sealed}, false},
	} {
		if got := sharable(&tt.ev); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// value is a resource that is not a pointer.
type value struct{ resource.Resource }
