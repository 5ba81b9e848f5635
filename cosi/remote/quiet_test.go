// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestQuietWatches breaks the connections of watches that had no events, while the other resources of their kind had more
// changes than the history can keep.
func TestQuietWatches(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	for name, opts := range map[string][]memory.Option{
		"short":     {memory.WithHistory(16)},
		"few bytes": {memory.WithHistoryBytes(4000)},
		"default":   nil,
	} {
		mem := memory.New(opts...)
		l := serve(t, mem)
		st := remote.New(l.conn)
		kind := item("", "").Metadata().Kind()

		labelled := item("quiet", "1")
		labelled.Metadata().SetLabel("quiet", "yes")
		ok(t, mem.Create(t.Context(), labelled))

		one, resumed := make(chan state.Event), make(chan state.Event)
		byID, byLabel, booted := make(chan state.Event), make(chan state.Event), make(chan state.Event)
		id, label := state.WithKindIDQuery(regexp.MustCompile("^quiet$")), state.WithKindLabelQuery(resource.LabelIs("quiet", "yes"))

		ok(t, st.Watch(t.Context(), labelled.Metadata().Pointer(), one))
		ok(t, st.WatchKind(t.Context(), kind, byID, id))
		ok(t, st.WatchKind(t.Context(), kind, byLabel, label))
		ok(t, st.WatchKind(t.Context(), kind, booted, id, state.WithBootstrapContents(), state.WithBootstrapBookmark()))

		want(t, one, state.Created, "quiet", 1)
		want(t, booted, state.Created, "quiet", 1)
		want(t, booted, state.Bootstrapped, "", 0)

		// It has no first event, so its reader's version is not known.
		mark := want(t, booted, state.Noop, "", 0).Bookmark
		ok(t, st.Watch(t.Context(), labelled.Metadata().Pointer(), resumed, state.WithStartFromBookmark(mark)))

		version := uint64(1)

		for range 3 {
			for i := range 1500 {
				set(t, mem, "busy", fmt.Sprint(i))
			}

			// Time for the server to send it, and for the client to receive it.
			time.Sleep(500 * time.Millisecond)

			l.down()
			l.up(server.New(mem))

			version++
			set(t, mem, "quiet", fmt.Sprint(version))

			for what, ch := range map[string]chan state.Event{"one": one, "resumed": resumed, "by id": byID, "by label": byLabel, "booted": booted} {
				ev := next(t, ch)
				if ev.Type != state.Updated || ev.Resource.Metadata().Version() != version || ev.Old == nil || ev.Old.Metadata().Version() != version-1 {
					t.Fatalf("history %s, watch %s: got %s of %s (%v), want an update to version %d", name, what, ev.Type, ev.Resource.Metadata(), ev.Error, version)
				}
			}
		}
	}
}

// TestProgress requests the Noop events that a client otherwise uses only itself.
func TestProgress(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	mem := memory.New(memory.WithHistory(16))
	st := remote.New(serve(t, mem).conn)
	ch := make(chan state.Event, 1000)

	ok(t, st.WatchKind(t.Context(), item("", "").Metadata().Kind(), ch, state.WithKindIDQuery(regexp.MustCompile("^none$")), state.WithProgress()))

	var last state.Bookmark

	for i := range 200 {
		set(t, mem, "busy", fmt.Sprint(i))
		time.Sleep(time.Millisecond)
	}

	for len(ch) > 0 {
		ev := <-ch
		if ev.Type != state.Noop || ev.Bookmark == nil {
			t.Fatalf("got %s of %s, want only progress", ev.Type, ev.Resource.Metadata())
		}

		last = ev.Bookmark
	}

	if last == nil {
		t.Fatal("no progress in 200 changes")
	}

	ok(t, st.WatchKind(t.Context(), item("", "").Metadata().Kind(), ch, state.WithKindStartFromBookmark(last)))
}

// TestOneOutlivesItsStore watches one resource while the server is restarted with an empty store.
func TestOneOutlivesItsStore(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	l := serve(t, memory.New())
	st := remote.New(l.conn)
	ptr := item("a", "").Metadata().Pointer()
	ch := make(chan state.Event)

	restart := func(value string) {
		t.Helper()
		l.down()

		mem := memory.New()
		if value != "" {
			ok(t, mem.Create(t.Context(), item("a", value)))
		}

		l.up(server.New(mem))
	}

	ok(t, st.Watch(t.Context(), ptr, ch))
	want(t, ch, state.Destroyed, "a", 0)
	set(t, st, "a", "1")
	want(t, ch, state.Created, "a", 1)

	restart("other")

	// It is another resource with the same address.
	want(t, ch, state.Destroyed, "a", 1)
	want(t, ch, state.Created, "a", 1)
	set(t, st, "a", "more")
	want(t, ch, state.Updated, "a", 2)

	restart("")
	want(t, ch, state.Destroyed, "a", 2)
	set(t, st, "a", "again")
	want(t, ch, state.Created, "a", 1)
}

// TestLargeEvents sends events that are larger than gRPC's default limit.
func TestLargeEvents(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	mem := memory.New()
	st := remote.New(serve(t, mem).conn)
	ch := make(chan state.Event)
	large := strings.Repeat("large ", 370_000) // 4.4 MB in both forms

	set(t, mem, "a", "small")
	ok(t, st.WatchKind(t.Context(), item("", "").Metadata().Kind(), ch))
	set(t, mem, "a", "1"+large)
	set(t, mem, "a", "2"+large)
	set(t, mem, "b", "small")

	want(t, ch, state.Updated, "a", 2)

	if ev := want(t, ch, state.Updated, "a", 3); ev.Old == nil || ev.Old.Metadata().Version() != 2 {
		t.Errorf("the old version is %v", ev.Old)
	}

	want(t, ch, state.Created, "b", 1)

	r, err := st.Get(t.Context(), item("a", "").Metadata().Pointer())
	ok(t, err)

	items, err := st.List(t.Context(), item("", "").Metadata().Kind())
	ok(t, err)

	if len(items) != 2 || !resource.Equal(items[0], r) {
		t.Errorf("got %d resources", len(items))
	}
}

// poisonSpec can be stored, but can be sent only when it is harmless.
type poisonSpec struct{ Value string }

var poisonDefinition = &resource.Definition{Type: "Poisons.test.cosi.dev", DefaultNamespace: "n"}

func (poisonSpec) Definition() *resource.Definition { return poisonDefinition }

func (s poisonSpec) MarshalProto() ([]byte, error) {
	if s.Value == "poison" {
		return nil, errors.New("this cannot be sent")
	}

	return nil, nil
}

func (s *poisonSpec) UnmarshalProto([]byte) error { return nil }

// TestEventThatCanNotBeSent: the watch ends with the reason. It does not hang, and does not retry for ever.
func TestEventThatCanNotBeSent(t *testing.T) {
	ok(t, resource.Register[poisonSpec]())

	mem := memory.New()
	st := remote.New(serve(t, mem).conn)
	ch := make(chan state.Event)
	ok(t, st.WatchKind(t.Context(), resource.KindOf[poisonSpec](""), ch))

	for _, value := range []string{"harmless", "poison", "after"} {
		r := resource.New[poisonSpec]("", value)
		r.TypedSpec().Value = value
		ok(t, mem.Create(t.Context(), r))

		if value == "harmless" { // in one message with the next, it would not be sent either
			want(t, ch, state.Created, "harmless", 1)
		}
	}

	if ev := next(t, ch); ev.Type != state.Errored || !strings.Contains(fmt.Sprint(ev.Error), "this cannot be sent") {
		t.Errorf("got %s of %s (%v), want the reason", ev.Type, ev.Resource.Metadata(), ev.Error)
	}
}
