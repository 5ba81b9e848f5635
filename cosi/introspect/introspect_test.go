// SPDX-License-Identifier: Apache-2.0

package introspect_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/introspect"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// counters are metrics that a test sets.
type counters struct {
	mu    sync.Mutex
	all   []runtime.Metrics
	reads int
}

func (c *counters) set(all ...runtime.Metrics) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.all = all
}

func (c *counters) read() []runtime.Metrics {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.reads++

	return c.all
}

func (c *counters) timesRead() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.reads
}

func kind() resource.Kind { return resource.KindOf[introspect.ControllerMetricsSpec]("") }

func TestRead(t *testing.T) {
	var c counters

	st := introspect.New(c.read)
	full := runtime.Metrics{
		Controller: "b", Wakeups: 1, Crashes: 2, Reads: 3, Writes: 4, Finished: true, Processed: 5, Requeues: 6, Skips: 7, Mapped: 8, QueueLength: 9,
	}

	c.set(runtime.Metrics{Controller: "a"}, full)

	got, err := typed.Get[introspect.ControllerMetricsSpec](t.Context(), st, "", "b")
	if err != nil {
		t.Fatal(err)
	}

	want := introspect.ControllerMetricsSpec{
		Wakeups: 1, Crashes: 2, Reads: 3, Writes: 4, Finished: true, Processed: 5, Requeues: 6, Skips: 7, Mapped: 8, QueueLength: 9,
	}
	if diff := cmp.Diff(want, *got.TypedSpec()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Unchanged counters are not a new version; counters of a removed controller are destroyed.
	c.set(full, runtime.Metrics{Controller: "c"})

	items, err := st.List(t.Context(), kind())
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, r := range items {
		names = append(names, r.Metadata().String())
	}

	if diff := cmp.Diff([]string{
		"ControllerMetrics.meta.cosi.dev(controllers/b@1)", "ControllerMetrics.meta.cosi.dev(controllers/c@1)",
	}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWatch: watches receive changes every few seconds; without watches, nothing is read.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counters

		st := introspect.New(c.read)
		c.set(runtime.Metrics{Controller: "a"})

		time.Sleep(time.Hour)

		if n := c.timesRead(); n != 0 {
			t.Errorf("the counters were read %d times before the first watch", n)
		}

		for life := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			ch := make(chan state.Event, 100)

			for range 2 { // all watches share the reads
				if err := st.WatchKind(ctx, kind(), ch); err != nil {
					t.Fatal(err)
				}
			}

			c.set(runtime.Metrics{Controller: "a", Wakeups: uint64(life + 1)})

			before := c.timesRead()

			time.Sleep(introspect.Every)
			synctest.Wait()

			if len(ch) != 2 || c.timesRead() != before+1 {
				t.Fatalf("watch %d: got %d events in %d reads, want 2 in 1", life, len(ch), c.timesRead()-before)
			}

			if ev := <-ch; ev.Type != state.Updated {
				t.Errorf("got an event of type %d, want an update", ev.Type)
			}

			time.Sleep(time.Minute)
			synctest.Wait()

			if len(ch) != 1 {
				t.Errorf("got %d events of counters that do not change", len(ch)-1)
			}

			cancel()
			time.Sleep(2 * introspect.Every)

			before = c.timesRead()

			time.Sleep(time.Hour)

			if n := c.timesRead() - before; n != 0 {
				t.Errorf("the counters were read %d times after the last watch", n)
			}
		}
	})
}

func TestWritesAreRefused(t *testing.T) {
	var c counters

	st := introspect.New(c.read)
	c.set(runtime.Metrics{Controller: "a"})

	ptr := resource.PointerOf[introspect.ControllerMetricsSpec]("", "a")
	keep := func(resource.Resource) error { return nil }

	_, modified := st.Modify(t.Context(), resource.New[introspect.ControllerMetricsSpec]("", "a"), keep)
	_, updated := st.UpdateWithConflicts(t.Context(), ptr, keep)
	_, torn := st.Teardown(t.Context(), ptr)

	for name, err := range map[string]error{
		"create":   st.Create(t.Context(), resource.New[introspect.ControllerMetricsSpec]("", "x")),
		"update":   st.Update(t.Context(), resource.New[introspect.ControllerMetricsSpec]("", "a")),
		"modify":   modified,
		"edit":     updated,
		"teardown": torn,
		"destroy":  st.Destroy(t.Context(), ptr),
		"hold":     st.AddFinalizer(t.Context(), ptr, "f"),
	} {
		if state.ClassOf(err) != state.Unsupported {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

// TestOfARuntime: each controller of a runtime has a resource.
func TestOfARuntime(t *testing.T) {
	if err := introspect.RegisterTypes(); err != nil {
		t.Fatal(err)
	}

	rt := runtime.New(memory.New(), slog.New(slog.DiscardHandler))
	st := introspect.New(rt.Metrics)

	if items, err := st.List(t.Context(), kind()); err != nil || len(items) != 0 {
		t.Errorf("got %d (%v), want none of a runtime without controllers", len(items), err)
	}

	if err := rt.RegisterController(&controller.Reconciler{ControllerName: "idle"}); err != nil {
		t.Fatal(err)
	}

	if _, err := typed.Get[introspect.ControllerMetricsSpec](t.Context(), st, "", "idle"); err != nil {
		t.Error(err)
	}
}
