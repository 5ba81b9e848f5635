// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"sync"
	"time"
)

// health remembers which upstreams failed.
type health struct {
	mu     sync.Mutex
	failed map[Upstream]time.Time
}

// order returns the upstreams in their order, but those that failed a short time ago last.
func (h *health) order(upstreams []Upstream, now time.Time) []Upstream {
	h.mu.Lock()
	defer h.mu.Unlock()

	var good, bad []Upstream

	for _, u := range upstreams {
		if at, ok := h.failed[u]; ok && now.Sub(at) < avoided {
			bad = append(bad, u)
		} else {
			good = append(good, u)
		}
	}

	return append(good, bad...)
}

// down reports whether all upstreams failed a short time ago.
func (h *health) down(upstreams []Upstream, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()

	for _, u := range upstreams {
		if at, ok := h.failed[u]; !ok || now.Sub(at) >= avoided {
			return false
		}
	}

	return true
}

// note records whether an upstream works.
func (h *health) note(u Upstream, works bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if works {
		delete(h.failed, u)

		return
	}

	if h.failed == nil {
		h.failed = map[Upstream]time.Time{}
	}

	h.failed[u] = now
}

// forget forgets what is known about all upstreams.
func (h *health) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.failed = nil
}
