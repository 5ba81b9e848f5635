// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// model is a state that is too simple to be wrong: one writer, one map.
type model map[string]*entry

type entry struct {
	version    uint64
	value      string
	owner      string
	tearing    bool
	finalizers []string
}

var historyTests = []test{
	{"a random history equals the model's", func(b *bench) {
		seed := rand.Uint64()
		b.Logf("seed %d", seed)
		RandomHistory(b.T, b.State, seed, 3000)
	}},

	{"writers at once", func(b *bench) {
		const workers, rounds, ids = 4, 45, 3

		s := b.watchKind()

		var (
			wg  sync.WaitGroup
			mu  sync.Mutex
			log = map[string][]uint64{} // acknowledged versions by id
		)

		ack := func(id string, version uint64) {
			mu.Lock()
			defer mu.Unlock()

			log[id] = append(log[id], version)
		}

		for i := range ids {
			b.create(fmt.Sprint(i))
		}

		for w := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 1))

				for range rounds {
					id := fmt.Sprint(r.IntN(ids))

					cur, err := b.Get(b.ctx, ptr(id))
					if err != nil {
						b.Error(err)

						return
					}

					c := b.item(cur.DeepCopy())
					c.TypedSpec().Value = fmt.Sprint(w, r.IntN(1000))

					switch err := b.Update(b.ctx, c); {
					case err == nil:
						ack(id, c.Metadata().Version())
					case !state.IsConflict(err):
						b.Error(err)
					}
				}
			})
		}

		wg.Wait()

		// Every acknowledged write is one event, and versions have no gaps: a watch is the exact history.
		total := 0
		for _, versions := range log {
			total += len(versions)
		}

		seen := map[string]uint64{}
		for range total + ids {
			ev := s.next()
			md := ev.Resource.Metadata()

			if md.Version() != seen[md.ID()]+1 {
				b.Fatalf("%s after version %d", describe(ev), seen[md.ID()])
			}

			seen[md.ID()]++
		}

		for id, versions := range log {
			slices.Sort(versions)

			for i, v := range versions {
				if v != uint64(i)+2 {
					b.Fatalf("%s: acknowledged versions %v", id, versions)
				}
			}

			equal(b, "version of "+id, b.get(id).Metadata().Version(), seen[id])
		}
	}},
}

// RandomHistory runs random operations on the state and on a model. It compares every result, the contents, and the events
// of several kinds of watches. The state must keep a history of at least 64 events.
func RandomHistory(t testingT, st state.State, seed uint64, steps int) {
	t.Helper()

	h := &history{testingT: t, st: st, r: rand.New(rand.NewPCG(seed, 2)), model: model{}}
	h.watch()

	for i := range steps {
		h.step()

		if i%16 == 15 {
			h.compare()
		}
	}

	h.compare()
}

func (e *entry) phase() resource.Phase {
	if e.tearing {
		return resource.PhaseTearingDown
	}

	return resource.PhaseRunning
}
