// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

var itemKind = resource.KindOf[conformance.ItemSpec]("")

func put(t testing.TB, st state.State, id, value string) {
	t.Helper()
	ok(t, typed.Set(t.Context(), st, "", id, conformance.ItemSpec{Value: value}))
}

// kept returns how many events of the kind the store still has.
func kept(t *testing.T, st state.State) (n int) {
	t.Helper()

	ch := make(chan []state.Event, 1)
	ok(t, st.WatchKindAggregated(t.Context(), itemKind, ch, state.WithKindTailEvents(1<<20)))

	select {
	case events := <-ch:
		return len(events)
	case <-time.After(10 * time.Second):
		t.Fatal("there is no event")

		return 0
	}
}

func TestHistoryLimits(t *testing.T) {
	for _, tt := range []struct {
		name               string
		opts               []memory.Option
		resources, updates int
		size               int
		most               int
		least              int
	}{
		{"a few large versions of one", nil, 1, 300, 100_000, 42, 38},
		{"few, though they are larger than the limit", []memory.Option{memory.WithHistoryBytes(1000)}, 1, 100, 10_000, 8, 8},
		{"small versions of one", nil, 1, 1100, 10, 201, 192},
		{"small versions of many", nil, 1000, 3, 10, 1024, 1024},
		{"as many as the option says", []memory.Option{memory.WithHistory(20)}, 1, 100, 10, 20, 20},
		{"more than the default, of one resource", []memory.Option{memory.WithHistory(3000)}, 1, 2000, 10, 2000, 2000},
	} {
		st := memory.New(tt.opts...)

		for i := range tt.updates {
			for r := range tt.resources {
				put(t, st, fmt.Sprint(r), fmt.Sprintf("%0*d", tt.size, i))
			}
		}

		if n := kept(t, st); n > tt.most || n < tt.least {
			t.Errorf("%s: got %d events, want %d to %d", tt.name, n, tt.least, tt.most)
		}
	}
}

// TestDestroyedIsCounted creates and destroys resources: the memory that only the history refers to is limited too.
func TestDestroyedIsCounted(t *testing.T) {
	st := memory.New(memory.WithHistoryBytes(1 << 20))

	for i := range 100 {
		put(t, st, fmt.Sprint(i), strings.Repeat("x", 50_000))
	}

	for i := range 100 {
		ok(t, st.Destroy(t.Context(), resource.PointerOf[conformance.ItemSpec]("", fmt.Sprint(i))))
	}

	if n := kept(t, st); n > 21 {
		t.Errorf("got %d events of 50 kB each in a history of 1 MiB", n)
	}
}

// TestListsHoldNothing lists a kind until its view is kept, and changes the kind: then nothing may refer to the old version.
func TestListsHoldNothing(t *testing.T) {
	st := memory.New(memory.WithHistory(1))
	put(t, st, "a", "old")

	old := func() weak.Pointer[conformance.ItemSpec] {
		r, err := typed.Get[conformance.ItemSpec](t.Context(), st, "", "a")
		ok(t, err)

		return weak.Make(r.TypedSpec())
	}()

	for range 3 {
		_, err := st.List(t.Context(), itemKind)
		ok(t, err)
	}

	for i := range 3 {
		put(t, st, "a", fmt.Sprint(i))
	}

	for range 100 {
		if runtime.GC(); old.Value() == nil {
			return
		}

		time.Sleep(10 * time.Millisecond)
	}

	t.Error("a version that was replaced three times is still in memory")
}
