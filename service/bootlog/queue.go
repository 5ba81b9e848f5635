// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"fmt"
	"sync"
	"time"
)

// queue is what waits for the disk, with what each log may still add to it.
type queue struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	pending []byte
	// taken bytes are being written, and may come back.
	taken int
	logs  map[string]*budget
}

// budget of one log: how much it may write, as of a time, and how many lines it was refused.
type budget struct {
	left    int
	asOf    time.Time
	dropped int
}

func newQueue(limits Limits, now func() time.Time) *queue {
	return &queue{limits: limits, now: now, logs: map[string]*budget{}}
}

// add never blocks.
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
		// In two steps, as the product overflows after an hour and more.
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

// take returns what is waiting, whole records all, and empties the queue. The room that it takes stays taken until it is
// kept or put back.
func (q *queue) take() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()

	out := q.pending
	q.pending, q.taken = nil, len(out)

	return out
}

// kept is called when what was taken is written.
func (q *queue) kept() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.taken = 0
}

// putBack what could not be written, before what came since.
func (q *queue) putBack(frames []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.pending, q.taken = append(frames, q.pending...), 0
}
