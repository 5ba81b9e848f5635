// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// History is what the clients of a run saw. It is safe for concurrent use.
type History struct {
	mu sync.Mutex
	// acknowledged writes with their moments; unknown are those whose answer was lost.
	acknowledged map[string]time.Time
	unknown      map[string]bool
	clusters     map[string]string // the identity of the cluster → the API server that told it first
	members      map[string]string // etcd member → machine, of those seen
	wiped        map[string]int    // machine → how often its disks were emptied, less the members that have left since
	gone         map[string]bool
	violations   []string
	reads        int
	failed       int
	longest      time.Duration
	last         time.Time
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{
		acknowledged: map[string]time.Time{}, unknown: map[string]bool{}, clusters: map[string]string{}, members: map[string]string{},
		wiped: map[string]int{}, gone: map[string]bool{},
	}
}

func (h *History) violation(format string, args ...any) {
	h.violations = append(h.violations, fmt.Sprintf(format, args...))
}

// Wrote records the answer to a write.
func (h *History) Wrote(key string, err error, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if err != nil {
		h.unknown[key] = true
		h.failed++

		return
	}

	h.acknowledged[key] = now

	if !h.last.IsZero() {
		h.longest = max(h.longest, now.Sub(h.last))
	}

	h.last = now
}

// Read records that a strong read, which began after the write of the key was acknowledged, found it or not.
func (h *History) Read(key, server string, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.reads++

	if _, ok := h.acknowledged[key]; ok && !found {
		h.violation("%s does not have %s, which was acknowledged before", server, key)
	}
}

// Cluster records the identity of the cluster that an API server belongs to.
func (h *History) Cluster(server, identity string) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if _, ok := h.clusters[identity]; ok {
		return
	}

	for other, first := range h.clusters {
		h.violation("%s belongs to the cluster %s, and %s to the cluster %s", server, identity, first, other)
	}

	h.clusters[identity] = server
}

// Wiped records that a machine's disks are emptied.
func (h *History) Wiped(machine string) {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.wiped[machine]++
}

// Members records the members that etcd has, by id, with the names of their machines. A learner that has not started has no name.
func (h *History) Members(now map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()

	for _, id := range slices.Sorted(maps.Keys(h.members)) {
		machine := h.members[id]

		if _, still := now[id]; still || h.gone[id] {
			continue
		}

		h.gone[id] = true

		if h.wiped[machine] == 0 {
			h.violation("member %s of %s has left etcd, though the machine's disks were never emptied", id, machine)
		} else {
			h.wiped[machine]--
		}
	}

	for id, machine := range now {
		if h.gone[id] {
			h.violation("member %s of %s is back, after it had left etcd", id, machine)
		}

		if machine != "" {
			h.members[id] = machine
		}
	}
}

// Whole records the members of a cluster that is whole again: a member that leaves from now on is not excused by an earlier wipe, whose own
// member may have left before anyone saw it.
func (h *History) Whole(now map[string]string) {
	h.Members(now)

	h.mu.Lock()
	defer h.mu.Unlock()

	clear(h.wiped)
}

// LastWrite returns when a write was acknowledged last.
func (h *History) LastWrite() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.last
}

// Check returns what was wrong, with the keys that the cluster has at the end.
func (h *History) Check(keys map[string]bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()

	out := slices.Clone(h.violations)

	for _, key := range slices.Sorted(maps.Keys(h.acknowledged)) {
		if !keys[key] {
			out = append(out, fmt.Sprintf("%s, acknowledged at %s, is lost", key, h.acknowledged[key].Format(time.TimeOnly)))
		}
	}

	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if _, ok := h.acknowledged[key]; !ok && !h.unknown[key] {
			out = append(out, key+" was never written")
		}
	}

	return out
}

// Summary returns the figures of the run.
func (h *History) Summary() string {
	h.mu.Lock()
	defer h.mu.Unlock()

	left := 0
	for range h.gone {
		left++
	}

	return fmt.Sprintf("%d writes acknowledged, %d without an answer, %d reads, longest time without a write %.1fs, %d members replaced",
		len(h.acknowledged), h.failed, h.reads, h.longest.Seconds(), left)
}
