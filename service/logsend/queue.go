// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Limits of the lines that wait for a server, and of those from before the first configuration is known, in bytes.
const (
	queueLimit = 512 << 10
	earlyLimit = 128 << 10
	// lineOverhead is the memory of a line in addition to its bytes.
	lineOverhead = 96
)

// line is a line of a service.
type line struct {
	service string
	text    []byte
	at      time.Time
}

// Queue has the lines that wait for a server.
type Queue struct {
	limit int

	mu    sync.Mutex
	lines []line
	bytes int
	lost  int
	more  chan struct{}
}

func newQueue(limit int) *Queue { return &Queue{limit: limit, more: make(chan struct{}, 1)} }

// add adds a line. Beyond the limit it drops the oldest lines.
func (q *Queue) add(l line) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.lines = append(q.lines, l)
	q.bytes += len(l.text) + lineOverhead

	drop := 0
	for q.bytes > q.limit && drop < len(q.lines)-1 {
		q.bytes -= len(q.lines[drop].text) + lineOverhead
		q.lines[drop] = line{}
		drop++
	}

	q.lines = q.lines[drop:]
	q.lost += drop

	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take removes the oldest line, after the number of those before it that were lost.
func (q *Queue) take() (l line, lost int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if len(q.lines) == 0 {
		q.lines = nil // an empty slice would keep the memory of all lines

		return line{}, 0, false
	}

	l, lost = q.lines[0], q.lost
	q.lines[0] = line{}
	q.lines, q.lost = q.lines[1:], 0
	q.bytes -= len(l.text) + lineOverhead

	return l, lost, true
}

// Run sends the lines until ctx ends.
func (q *Queue) Run(ctx context.Context, sender *Sender) error {
	defer sender.Close()

	for {
		l, lost, ok := q.take()

		if !ok {
			select {
			case <-ctx.Done():
				return nil
			case <-q.more:
			}

			continue
		}

		if lost > 0 {
			note := OfService(l.service, fmt.Appendf(nil, "… %d lines of services were dropped before they could be sent", lost), l.at)
			if sender.Send(ctx, note) != nil {
				return nil
			}
		}

		if sender.Send(ctx, OfService(l.service, l.text, l.at)) != nil {
			return nil
		}
	}
}
