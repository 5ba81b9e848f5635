// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

type pathSpec struct{}

var pathDefinition = &resource.Definition{Type: "os/path", DefaultNamespace: "default"}

func (pathSpec) Definition() *resource.Definition { return pathDefinition }

func newState() state.State { return memory.New() }

func newPath(id string) resource.Resource { return resource.New[pathSpec]("default", id) }

func ok(b testing.TB, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("path-%08d", i*7919%n)
	}

	return out
}

func filled(b testing.TB, st state.State, n int) []string {
	b.Helper()

	list := ids(n)
	for _, id := range list {
		ok(b, st.Create(context.Background(), newPath(id)))
	}

	return list
}

func BenchmarkGet(b *testing.B) {
	st := newState()
	filled(b, st, 1000)

	ptr := newPath("path-00000007").Metadata().Pointer()

	b.ReportAllocs()

	for b.Loop() {
		if _, err := st.Get(context.Background(), ptr); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetParallel(b *testing.B) {
	st := newState()
	filled(b, st, 1000)

	ptr := newPath("path-00000007").Metadata().Pointer()

	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := st.Get(context.Background(), ptr); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkList10k(b *testing.B) {
	st := newState()
	filled(b, st, 10_000)

	kind := newPath("").Metadata().Kind()

	b.ReportAllocs()

	for b.Loop() {
		if items, err := st.List(context.Background(), kind); err != nil || len(items) != 10_000 {
			b.Fatal(len(items), err)
		}
	}
}

func BenchmarkList10kChanging(b *testing.B) {
	st := newState()
	list := filled(b, st, 10_000)
	kind := newPath("").Metadata().Kind()
	r, err := st.Get(context.Background(), newPath(list[0]).Metadata().Pointer())
	ok(b, err)

	r = r.DeepCopy()

	b.ReportAllocs()

	for b.Loop() {
		ok(b, st.Update(context.Background(), r))

		if items, err := st.List(context.Background(), kind); err != nil || len(items) != 10_000 {
			b.Fatal(len(items), err)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	const round = 100_000

	list := ids(round)
	st := newState()

	b.ReportAllocs()

	i := 0
	for b.Loop() {
		if i == round {
			st, i = newState(), 0
		}

		ok(b, st.Create(context.Background(), newPath(list[i])))

		i++
	}
}

func BenchmarkUpdate(b *testing.B) {
	st := newState()
	r := newPath("a")
	ok(b, st.Create(context.Background(), r))

	b.ReportAllocs()

	for b.Loop() {
		ok(b, st.Update(context.Background(), r))
	}
}

func BenchmarkUpdateWithConflicts(b *testing.B) {
	st := newState()
	r := newPath("a")
	ok(b, st.Create(context.Background(), r))

	values := [2]string{"even", "odd"}

	b.ReportAllocs()

	i := 0
	for b.Loop() {
		i++

		_, err := st.UpdateWithConflicts(context.Background(), r.Metadata().Pointer(), func(r resource.Resource) error {
			r.Metadata().SetLabel("n", values[i%2])

			return nil
		})
		ok(b, err)
	}
}

func BenchmarkAddRemoveFinalizer(b *testing.B) {
	st := newState()
	r := newPath("a")
	ok(b, st.Create(context.Background(), r))

	b.ReportAllocs()

	for b.Loop() {
		ok(b, st.AddFinalizer(context.Background(), r.Metadata().Pointer(), "f"))
		ok(b, st.RemoveFinalizer(context.Background(), r.Metadata().Pointer(), "f"))
	}
}

const watchers = 1000

// BenchmarkWatchers is an update until it arrives at 1,000 watchers of the kind, each with a channel and a goroutine that
// reads it.
func BenchmarkWatchers(b *testing.B) {
	st := newState()
	r := newPath("a")
	ok(b, st.Create(context.Background(), r))

	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)

	got := make(chan struct{}, watchers)

	for range watchers {
		ch := make(chan state.Event)
		ok(b, st.WatchKind(ctx, r.Metadata().Kind(), ch))

		go func() {
			for {
				select {
				case <-ch:
					got <- struct{}{}
				case <-ctx.Done():
					return
				}
			}
		}()
	}

	b.ReportAllocs()

	for b.Loop() {
		ok(b, st.Update(context.Background(), r))

		for range watchers {
			<-got
		}
	}
}

// BenchmarkWatchersShared is the same with one channel for all watchers, so it measures the store and not the readers.
func BenchmarkWatchersShared(b *testing.B) {
	st := newState()
	r := newPath("a")
	ok(b, st.Create(context.Background(), r))

	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)

	ch := make(chan state.Event, watchers)

	for range watchers {
		ok(b, st.WatchKind(ctx, r.Metadata().Kind(), ch))
	}

	b.ReportAllocs()

	for b.Loop() {
		ok(b, st.Update(context.Background(), r))

		for range watchers {
			<-ch
		}
	}
}

// BenchmarkUpdateOfMany updates a hundred resources in turn, without watchers.
func BenchmarkUpdateOfMany(b *testing.B) { updateOfMany(b, 0) }

// BenchmarkUpdateSlowWatchers is the same with ten watchers that do not read.
func BenchmarkUpdateSlowWatchers(b *testing.B) { updateOfMany(b, 10) }

func updateOfMany(b *testing.B, watchers int) {
	b.Helper()

	st := newState()
	list := filled(b, st, 100)

	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)

	for range watchers {
		ok(b, st.WatchKind(ctx, newPath("").Metadata().Kind(), make(chan state.Event)))
	}

	var items []resource.Resource

	for _, id := range list {
		r, err := st.Get(context.Background(), newPath(id).Metadata().Pointer())
		ok(b, err)

		items = append(items, r.DeepCopy())
	}

	b.ReportAllocs()

	i := 0
	for b.Loop() {
		ok(b, st.Update(context.Background(), items[i%100]))

		i++
	}
}

func heap() uint64 {
	var m runtime.MemStats

	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)

	return m.HeapAlloc
}

// BenchmarkMemory is the memory of a stored resource with an empty spec, without its id.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000

	for b.Loop() {
		list := ids(n)
		before := heap()
		st := newState()

		for _, id := range list {
			ok(b, st.Create(context.Background(), newPath(id)))
		}

		b.ReportMetric(float64(heap()-before)/n, "B/resource")
		runtime.KeepAlive(st)
		runtime.KeepAlive(list)
	}
}
