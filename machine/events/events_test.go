// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/machine/events"
)

func phase(n int) *machine.PhaseEvent { return &machine.PhaseEvent{Phase: strconv.Itoa(n)} }

func collect(ctx context.Context, r *events.Ring, start events.Start) (func() []string, <-chan error) {
	var got []string

	done := make(chan error, 1)

	go func() {
		done <- r.Watch(ctx, start, func(e events.Event) error {
			got = append(got, e.Payload.(*machine.PhaseEvent).GetPhase())

			return nil
		})
	}()

	return func() []string { return got }, done
}

func TestWatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start events.Start
		want  []string
	}{
		{"live only", events.Start{}, []string{"3"}},
		{"tail", events.Start{Tail: 2}, []string{"1", "2", "3"}},
		{"a longer tail than the log", events.Start{Tail: 20}, []string{"0", "1", "2", "3"}},
		{"all", events.Start{Tail: -1}, []string{"0", "1", "2", "3"}},
		{"one actor", events.Start{Tail: -1, Actor: "me"}, []string{"1"}},
		{"the last of one actor", events.Start{Tail: 1, Actor: "me"}, []string{"1"}},
		{"the last minute", events.Start{Since: time.Minute}, []string{"0", "1", "2", "3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r events.Ring

				for i := range 3 {
					r.Publish(phase(i), map[bool]string{true: "me"}[i == 1])
				}

				ctx, cancel := context.WithCancel(t.Context())
				got, _ := collect(ctx, &r, tt.start)

				synctest.Wait()
				r.Publish(phase(3), "")
				synctest.Wait()

				if !slices.Equal(got(), tt.want) {
					t.Errorf("got %v, want %v", got(), tt.want)
				}

				cancel()
				synctest.Wait()
			})
		})
	}
}

func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			r  events.Ring
			id string
		)

		for i := range 3 {
			r.Publish(phase(i), "")
		}

		stop := errors.New("stop")

		err := r.Watch(t.Context(), events.Start{Tail: -1}, func(e events.Event) error {
			id = e.ID.String()

			return stop
		})
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		got, _ := collect(ctx, &r, events.Start{After: id})

		synctest.Wait()

		if want := []string{"1", "2"}; !slices.Equal(got(), want) {
			t.Errorf("after the first: got %v, want %v", got(), want)
		}

		cancel()
		synctest.Wait()

		if err := r.Watch(t.Context(), events.Start{After: "nonsense"}, nil); err == nil {
			t.Error("a malformed id: got no error")
		}
	})
}

func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r events.Ring

		for i := range 3 {
			r.Publish(phase(i), "")
			time.Sleep(time.Minute)
		}

		ctx, cancel := context.WithCancel(t.Context())
		got, _ := collect(ctx, &r, events.Start{Since: 90 * time.Second, Tail: 3})

		synctest.Wait()

		if want := []string{"2"}; !slices.Equal(got(), want) {
			t.Errorf("the last 90 seconds: got %v, want %v", got(), want)
		}

		cancel()
		synctest.Wait()

		if err := r.Watch(t.Context(), events.Start{Since: -time.Second}, nil); err == nil {
			t.Error("a time in the future: got no error")
		}
	})
}

// TestAll gives a reader more events than fit into a batch.
func TestAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r events.Ring

		for i := range 2 * events.Capacity {
			r.Publish(phase(i), "")
		}

		ctx, cancel := context.WithCancel(t.Context())
		got, _ := collect(ctx, &r, events.Start{Tail: -1})

		synctest.Wait()

		if len(got()) != events.Capacity || got()[0] != strconv.Itoa(events.Capacity) {
			t.Errorf("got %d events", len(got()))
		}

		cancel()
		synctest.Wait()
	})
}

func TestOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r events.Ring

		r.Publish(phase(0), "")

		gate := make(chan struct{})
		done := make(chan error, 1)

		go func() {
			done <- r.Watch(t.Context(), events.Start{Tail: -1}, func(events.Event) error {
				<-gate

				return nil
			})
		}()

		synctest.Wait()

		for i := range events.Capacity + 1 {
			r.Publish(phase(i), "")
		}

		close(gate)

		if err := <-done; !errors.Is(err, events.ErrOverrun) {
			t.Errorf("got %v, want %v", err, events.ErrOverrun)
		}
	})
}

func TestWireType(t *testing.T) {
	var r events.Ring

	r.Publish(phase(1), "actor")

	stop := errors.New("stop")

	_ = r.Watch(t.Context(), events.Start{Tail: -1}, func(e events.Event) error {
		w, err := e.Wire()
		if err != nil {
			t.Fatal(err)
		}

		if got, want := w.GetData().GetTypeUrl(), "talos/runtime/machine.PhaseEvent"; got != want {
			t.Errorf("type URL: got %s, want %s", got, want)
		}

		return stop
	})
}
