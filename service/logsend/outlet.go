// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"bytes"
	"sync"
	"time"
)

// Outlet passes the lines of all services to the queues of servers. The zero Outlet is ready to use.
type Outlet struct {
	mu     sync.Mutex
	queues map[*Queue]bool
	early  *Queue
	// decided is set when it is known which servers there are.
	decided bool
}

// Append adds a line, which is copied. It does not block.
func (o *Outlet) Append(service string, text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if o.decided && len(o.queues) == 0 {
		return
	}

	l := line{service, bytes.Clone(text), time.Now()}

	if !o.decided {
		if o.early == nil {
			o.early = newQueue(earlyLimit)
		}

		o.early.add(l)
	}

	for q := range o.queues {
		q.add(l)
	}
}

// Open returns a queue of all later lines. Before Decide it begins with the first lines of the boot.
func (o *Outlet) Open() *Queue {
	o.mu.Lock()
	defer o.mu.Unlock()

	q := newQueue(queueLimit)

	if o.early != nil {
		o.early.mu.Lock()
		defer o.early.mu.Unlock()

		for _, l := range o.early.lines {
			q.add(l)
		}

		q.lost += o.early.lost
	}

	if o.queues == nil {
		o.queues = map[*Queue]bool{}
	}

	o.queues[q] = true

	return q
}

// Close ends a queue.
func (o *Outlet) Close(q *Queue) {
	o.mu.Lock()
	defer o.mu.Unlock()

	delete(o.queues, q)
}

// Decide says that the first servers are known: the first lines of the boot are not kept any longer.
func (o *Outlet) Decide() {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.decided, o.early = true, nil
}
