// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

type emptySpec struct{}

var emptyDefinition = &resource.Definition{Type: "Paths.bench.cosi.dev", DefaultNamespace: "bench"}

func (emptySpec) Definition() *resource.Definition { return emptyDefinition }

func filled(b *testing.B, n int) (*memory.State, []resource.Pointer) {
	b.Helper()

	st := memory.New()
	ptrs := make([]resource.Pointer, n)

	for i := range n {
		r := resource.New[emptySpec]("", fmt.Sprintf("path-%08d", i*7919%n))
		ptrs[i] = r.Metadata().Pointer()

		if err := st.Create(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}

	return st, ptrs
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st, ptrs := filled(b, n)
			ctx := context.Background()

			b.ReportAllocs()

			i := 0
			for b.Loop() {
				if _, err := st.Get(ctx, ptrs[i]); err != nil {
					b.Fatal(err)
				}

				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

func BenchmarkGetParallel(b *testing.B) {
	st, ptrs := filled(b, 100)
	ctx := context.Background()

	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, err := st.Get(ctx, ptrs[i%len(ptrs)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkList10k(b *testing.B) {
	st, ptrs := filled(b, 10_000)
	ctx := context.Background()
	kind := ptrs[0].Kind()

	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()

		for b.Loop() {
			if items, _ := st.List(ctx, kind); len(items) != 10_000 {
				b.Fatal(len(items))
			}
		}
	})

	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()

		i := 0
		for b.Loop() {
			if err := st.AddFinalizer(ctx, ptrs[i%10_000], fmt.Sprint(i)); err != nil {
				b.Fatal(err)
			}

			i++

			if items, _ := st.List(ctx, kind); len(items) != 10_000 {
				b.Fatal(len(items))
			}
		}
	})
}

func BenchmarkCreate(b *testing.B) {
	st := memory.New()
	ctx := context.Background()
	ids := make([]string, 1<<20)

	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}

	b.ReportAllocs()

	i := 0
	for b.Loop() {
		if i == len(ids) {
			st, i = memory.New(), 0
		}

		if err := st.Create(ctx, resource.New[emptySpec]("", ids[i])); err != nil {
			b.Fatal(err)
		}

		i++
	}
}

func BenchmarkUpdate(b *testing.B) {
	st, ptrs := filled(b, 1)
	ctx := context.Background()
	r, _ := st.Get(ctx, ptrs[0])
	r = r.DeepCopy()

	b.ReportAllocs()

	for b.Loop() {
		if err := st.Update(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdateWithConflicts(b *testing.B) {
	st, ptrs := filled(b, 1)
	ctx := context.Background()

	b.ReportAllocs()

	i := 0
	for b.Loop() {
		i++

		if _, err := st.UpdateWithConflicts(ctx, ptrs[0], func(r resource.Resource) error {
			r.Metadata().SetLabel("n", names[i%2])

			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

var names = [2]string{"even", "odd"}

func BenchmarkModifyNoop(b *testing.B) {
	st, _ := filled(b, 1)
	ctx := context.Background()
	empty := resource.New[emptySpec]("", "path-00000000")

	b.ReportAllocs()

	for b.Loop() {
		if _, err := st.Modify(ctx, empty, func(resource.Resource) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatchers is one update and its delivery to 1,000 watchers of the kind, each with a channel and a reader
// of its own, or all with one.
func BenchmarkWatchers(b *testing.B) {
	const watchers = 1000

	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("shared=%t", shared), func(b *testing.B) {
			st, ptrs := filled(b, 1)
			ctx, cancel := context.WithCancel(context.Background())
			b.Cleanup(cancel)

			got := make(chan struct{}, watchers)
			common := make(chan state.Event, watchers)

			for range watchers {
				ch := common
				if !shared {
					ch = make(chan state.Event)
				}

				if err := st.WatchKind(ctx, ptrs[0].Kind(), ch); err != nil {
					b.Fatal(err)
				}

				if !shared {
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
			}

			r, _ := st.Get(ctx, ptrs[0])
			r = r.DeepCopy()

			b.ReportAllocs()

			for b.Loop() {
				if err := st.Update(ctx, r); err != nil {
					b.Fatal(err)
				}

				for range watchers {
					if shared {
						<-common
					} else {
						<-got
					}
				}
			}
		})
	}
}

// BenchmarkMemory reports the heap that one resource with an empty spec takes, its id included.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000

	for b.Loop() {
		var before, after runtime.MemStats

		runtime.GC()
		runtime.ReadMemStats(&before)

		st, _ := filled(b, n)

		runtime.GC()
		runtime.ReadMemStats(&after)

		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n-40, "B/resource") // 40: the pointer's string headers… kept by filled
		runtime.KeepAlive(st)
	}
}
