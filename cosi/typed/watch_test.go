// SPDX-License-Identifier: Apache-2.0

package typed_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// seen has the parts of an event that the test compares.
type seen struct {
	Type           state.EventType
	ID, Name, Old  string
	Found, Errored bool
}

func see(ev typed.Event[HostSpec]) seen {
	s := seen{Type: ev.Type, ID: ev.ID, Found: ev.Resource != nil, Errored: ev.Error != nil}

	if ev.Resource != nil {
		s.Name = ev.Resource.TypedSpec().Name
	}

	if ev.Old != nil {
		s.Old = ev.Old.TypedSpec().Name
	}

	return s
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		st := memory.New()
		one, kind := make(chan typed.Event[HostSpec], 10), make(chan typed.Event[HostSpec], 10)

		check(typed.Watch(ctx, st, "", "web", one))
		check(typed.Set(ctx, st, "", "mail", HostSpec{Name: "mx"}))
		check(typed.WatchKind(ctx, st, "", kind, state.WithBootstrapContents()))
		check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}))
		check(typed.Set(ctx, st, "", "web", HostSpec{Name: "web"}))
		synctest.Wait()
		cancel()
		synctest.Wait() // no goroutine is left

		for name, tt := range map[string]struct {
			ch   chan typed.Event[HostSpec]
			want []seen
		}{
			"one": {one, []seen{
				{Type: state.Destroyed, ID: "web"},
				{Type: state.Created, ID: "web", Name: "www", Found: true},
				{Type: state.Updated, ID: "web", Name: "web", Old: "www", Found: true},
			}},
			"kind": {kind, []seen{
				{Type: state.Created, ID: "mail", Name: "mx", Found: true},
				{Type: state.Bootstrapped},
				{Type: state.Created, ID: "web", Name: "www", Found: true},
				{Type: state.Updated, ID: "web", Name: "web", Old: "www", Found: true},
			}},
		} {
			var got []seen
			for len(tt.ch) > 0 {
				got = append(got, see(<-tt.ch))
			}

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// roomSpec is another type of the same name.
type roomSpec struct {
	Floor int `yaml:"floor" protobuf:"1"`
}

func (roomSpec) Definition() *resource.Definition { return hostDefinition }

// TestWatchEnds: the watch ends after an event of another type and after an error.
func TestWatchEnds(t *testing.T) {
	other := resource.New[roomSpec]("", "web")

	for name, ev := range map[string]state.Event{
		"another type":     {Type: state.Created, Resource: other},
		"another type old": {Type: state.Updated, Resource: resource.New[HostSpec]("", "web"), Old: other},
		"error":            {Type: state.Errored, Error: errors.New("connection lost")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := &scripted{}
				events := make(chan typed.Event[HostSpec], 10)
				check(typed.Watch(t.Context(), script, "", "web", events))

				script.ch <- ev
				synctest.Wait()

				if got := see(<-events); got.Type != state.Errored || !got.Errored {
					t.Errorf("got %+v, want an error", got)
				}

				if script.ctx.Err() == nil {
					t.Error("the watch continues")
				}
			})
		})
	}
}

// scripted is a watcher whose events come from the test.
type scripted struct {
	state.Watcher

	ctx context.Context // checked by the test
	ch  chan<- state.Event
}

func (s *scripted) Watch(ctx context.Context, _ resource.Pointer, ch chan<- state.Event, _ ...state.WatchOption) error {
	s.ctx, s.ch = ctx, ch

	return nil
}

func TestWatchFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, st := t.Context(), memory.New()

		time.AfterFunc(time.Second, func() { check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"})) })
		time.AfterFunc(2*time.Second, func() { check(typed.Set(ctx, st, "", "web", HostSpec{Name: "www", Ready: true})) })

		for i, condition := range []func(*resource.Typed[HostSpec]) bool{
			nil, func(h *resource.Typed[HostSpec]) bool { return h.TypedSpec().Ready },
		} {
			h, err := typed.WatchFor(ctx, st, "", "web", condition)
			if err != nil || h.Metadata().Version() != uint64(i+1) {
				t.Errorf("got %v, %v, want version %d", h, err, i+1)
			}
		}

		limit, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()

		if _, err := typed.WatchFor[HostSpec](limit, st, "", "mail", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait that times out: got %v", err)
		}
	})
}
