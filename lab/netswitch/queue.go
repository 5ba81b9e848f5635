// SPDX-License-Identifier: Apache-2.0

package netswitch

import "sync"

const (
	// queueLimit bounds the frames that wait for one port: 1.5 MB of full frames, 12 ms of a gigabit link.
	queueLimit = 1024
	// queueBytes bounds their memory: MaxFrame is 46 full frames.
	queueBytes = 8 << 20
)

// queue holds the frames that wait for a port.
type queue struct {
	wake chan struct{} // one token when frames wait or the queue is closed

	mu     sync.Mutex
	frames []*Frame
	bytes  int // of frames
	closed bool
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// push adds a frame and takes over the caller's reference. It returns false, and releases the frame, when the queue is
// full or closed.
func (q *queue) push(f *Frame) bool {
	q.mu.Lock()
	if q.closed || len(q.frames) >= queueLimit || q.bytes+len(f.wire) > queueBytes {
		q.mu.Unlock()
		f.release()

		return false
	}

	q.frames = append(q.frames, f)
	q.bytes += len(f.wire)
	first := len(q.frames) == 1
	q.mu.Unlock()

	if first {
		q.signal()
	}

	return true
}

// take waits for frames and returns all of them. The queue fills spare next. It returns false when the queue is closed.
func (q *queue) take(spare []*Frame) ([]*Frame, bool) {
	for range q.wake {
		q.mu.Lock()
		frames, closed := q.frames, q.closed
		q.frames, q.bytes = spare[:0], 0
		q.mu.Unlock()

		if closed {
			releaseAll(frames)

			return nil, false
		}

		if len(frames) > 0 {
			return frames, true
		}
	}

	return nil, false
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func releaseAll(frames []*Frame) {
	for i, f := range frames {
		f.release()
		frames[i] = nil
	}
}
