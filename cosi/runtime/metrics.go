// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Metrics of one controller since it was registered.
type Metrics struct {
	Controller string
	Wakeups    uint64
	Crashes    uint64
	Reads      uint64
	Writes     uint64
	// Finished means that Run has returned nil: the controller does not run again.
	Finished bool
	// The rest is of queue controllers.
	Processed   uint64
	Requeues    uint64
	Skips       uint64
	Mapped      uint64
	QueueLength int
}

type counts struct {
	wakeups, crashes, reads, writes     atomic.Uint64
	processed, requeues, skips, mapping atomic.Uint64
}

// Metrics returns the counters of all controllers, sorted by name.
func (rt *Runtime) Metrics() []Metrics {
	rt.mu.Lock()
	defer rt.mu.Unlock()

	out := make([]Metrics, 0, len(rt.runners))
	for _, r := range rt.runners {
		out = append(out, r.metrics())
	}

	slices.SortFunc(out, func(a, b Metrics) int { return cmp.Compare(a.Controller, b.Controller) })

	return out
}

func (a *declared) metrics() Metrics {
	c := &a.counts

	return Metrics{
		Controller: a.Name(),
		Wakeups:    c.wakeups.Load(), Crashes: c.crashes.Load(), Reads: c.reads.Load(), Writes: c.writes.Load(),
		Processed: c.processed.Load(), Requeues: c.requeues.Load(), Skips: c.skips.Load(), Mapped: c.mapping.Load(),
	}
}
