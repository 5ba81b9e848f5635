// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"fmt"
	"sync"
	"time"
)

// queue has the records that are not written yet, and the budget of each log.
type queue struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	pending []byte
	// taken bytes are being written, and may be put back.
	taken int
	logs  map[string]*budget
}

// budget of one log: how many bytes it may write, as of a time, and how many lines were dropped.
type budget struct {
	left    int
	asOf    time.Time
	dropped int
}

func newQueue(limits Limits, now func() time.Time) *queue {
	return &queue{limits: limits, now: now, logs: map[string]*budget{}}
}

// add adds a line, or drops it; it never blocks.
func (q *queue) add(id string, text []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()

	now, size := q.now(), headerSize+prefixSize+len(id)+min(len(text), maxLine)

	b := q.logs[id]
	if b == nil {
		b = &budget{left: q.limits.Burst, asOf: now}
		q.logs[id] = b
	}

	if passed := now.Sub(b.asOf); passed > 0 {
		// At most one hour counts, because the product could overflow.
		gained := min(int(min(passed, time.Hour).Seconds()*float64(q.limits.Rate)), q.limits.Burst)
		if gained > 0 {
			b.left, b.asOf = min(b.left+gained, q.limits.Burst), now
		}
	} else if passed < 0 { // the clock was set
		b.asOf = now
	}

	if size > b.left || q.taken+len(q.pending)+size > q.limits.Pending {
		b.dropped++

		return
	}

	b.left -= size

	if b.dropped > 0 {
		q.pending = appendFrame(q.pending, line{now, id, fmt.Appendf(nil, "… %d lines came too fast to be kept", b.dropped)})
		b.dropped = 0
	}

	q.pending = appendFrame(q.pending, line{now, id, text})
}

// take returns all records and empties the queue. They count towards the limit until kept or putBack is called.
func (q *queue) take() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()

	out := q.pending
	q.pending, q.taken = nil, len(out)

	return out
}

// kept is called when the taken records are written.
func (q *queue) kept() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.taken = 0
}

// putBack puts records that could not be written in front of newer ones.
func (q *queue) putBack(frames []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.pending, q.taken = append(frames, q.pending...), 0
}
