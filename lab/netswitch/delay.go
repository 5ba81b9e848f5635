// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// delayLimit bounds the frames in a port's delay line: 100 ms of 1 Gbit/s.
	delayLimit = 8192
	// delayBytes bounds their memory.
	delayBytes = 32 << 20
)

// delayLine delays frames before they enter a queue. Frames due at the same time keep their order.
type delayLine struct {
	out     *queue
	dropped *atomic.Uint64 // counts frames that find the queue full

	mu     sync.Mutex
	held   dueHeap
	bytes  int // of held
	seq    uint64
	timer  *time.Timer
	closed bool
}

func newDelayLine(out *queue, dropped *atomic.Uint64) *delayLine {
	return &delayLine{out: out, dropped: dropped}
}

// push delays a frame by d and takes over the caller's reference. It returns false, and releases the frame, when the
// line is full or closed.
func (l *delayLine) push(f *Frame, d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.closed || len(l.held) >= delayLimit || l.bytes+len(f.wire) > delayBytes {
		f.release()

		return false
	}

	l.seq++
	l.bytes += len(f.wire)
	heap.Push(&l.held, due{at: time.Now().Add(d), seq: l.seq, frame: f})

	if l.held[0].frame == f {
		l.arm()
	}

	return true
}

// arm sets the timer for the frame that is due first. The caller holds mu.
func (l *delayLine) arm() {
	d := time.Until(l.held[0].at)
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.flush)
	} else {
		l.timer.Reset(d)
	}
}

func (l *delayLine) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()
	for len(l.held) > 0 && !l.held[0].at.After(now) {
		f := heap.Pop(&l.held).(due).frame
		l.bytes -= len(f.wire)

		if !l.out.push(f) {
			l.dropped.Add(1)
		}
	}

	if len(l.held) > 0 {
		l.arm()
	}
}

func (l *delayLine) close() {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}

	for _, d := range l.held {
		d.frame.release()
	}

	l.held, l.bytes = nil, 0
}

// due is a frame and the end of its delay.
type due struct {
	at    time.Time
	seq   uint64
	frame *Frame
}

type dueHeap []due

func (h dueHeap) Len() int      { return len(h) }
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h dueHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].seq < h[j].seq
	}

	return h[i].at.Before(h[j].at)
}

func (h *dueHeap) Push(x any) { *h = append(*h, x.(due)) }

func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = due{}
	*h = old[:len(old)-1]

	return last
}
