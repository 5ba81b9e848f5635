// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestClosed: when the store is closed, each watch ends with an event that says so, and continues at its bookmark in a store that is
// opened later.
func TestClosed(t *testing.T) {
	client := dial(t)
	st := openAt(t, client, "/closed")
	ptr, kind := resource.PointerOf[BookSpec]("", "book"), resource.KindOf[BookSpec]("")

	ok(t, typed.Set(t.Context(), st, "", "book", BookSpec{Title: "Emma"}))

	one, each, all := make(chan state.Event), make(chan state.Event), make(chan []state.Event)
	ok(t, st.Watch(t.Context(), ptr, one))
	ok(t, st.WatchKind(t.Context(), kind, each, state.WithBootstrapContents()))
	ok(t, st.WatchKindAggregated(t.Context(), kind, all, state.WithBootstrapContents()))

	ended, cancel := context.WithCancel(t.Context())
	unread := make(chan state.Event)
	ok(t, st.Watch(ended, ptr, unread))
	cancel()

	waited := make(chan error, 1)

	go func() {
		_, err := st.WatchFor(t.Context(), ptr, state.EventTypeIs(state.Destroyed))
		waited <- err
	}()

	within(t, "the resource", patience, one)
	within(t, "the resource of the kind", patience, each)
	within(t, "the end of the kind's contents", patience, each)

	st.Close()

	if err := within(t, "the end of WatchFor", patience, waited); !state.IsUnavailable(err) {
		t.Errorf("WatchFor: got %v, want Unavailable", err)
	}

	for what, ev := range map[string]state.Event{
		"Watch":     within(t, "the end of Watch", patience, one),
		"WatchKind": within(t, "the end of WatchKind", patience, each),
	} {
		if ev.Type != state.Errored || !state.IsUnavailable(ev.Error) {
			t.Errorf("%s: got %v %v, want errored, Unavailable", what, ev.Type, ev.Error)
		}
	}

	for ended := false; !ended; {
		events := within(t, "the end of WatchKindAggregated", patience, all)
		ended = events[len(events)-1].Type == state.Errored
	}

	if err := st.Watch(t.Context(), ptr, one); !state.IsUnavailable(err) {
		t.Errorf("a watch of a closed store: got %v, want Unavailable", err)
	}
}

// TestFollowing: a store knows whether its copy follows etcd.
func TestFollowing(t *testing.T) {
	srv := ownServer(t, t.TempDir())
	way := newProxy(t, srv.endpoint())
	st := openAt(t, dialTo(t, way.endpoint()), "/following", etcd.WithSilence(300*time.Millisecond))

	// Nothing is written, and etcd answers all the same.
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		ok(t, st.Following())
	}

	hung := make(chan struct{})

	go func() {
		defer close(hung)

		way.hang(3 * time.Second)
	}()

	retry(t, func() error {
		if st.Following() == nil {
			return errors.New("it follows, though nothing passes")
		}

		return nil
	})

	<-hung

	retry(t, func() error {
		if err := st.Following(); err != nil {
			return fmt.Errorf("it does not follow, though etcd answers: %w", err)
		}

		return nil
	})
}
