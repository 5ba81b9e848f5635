// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"sync"
	"time"
)

const (
	// minBandwidth is the limit at which a full frame takes twelve seconds.
	minBandwidth = 1000
	// bucketSize is how many bytes may pass at once after a pause: ten full frames.
	bucketSize = 15140
	// The queue of a bandwidth limit is bounded by this time, but not below this many bytes, so that a slow line can
	// queue a frame.
	shaperQueueTime  = 100 * time.Millisecond
	shaperQueueBytes = 64 << 10
)

// shaper is a token bucket with a queue. It holds no frames: it computes how long each waits in the port's delay line.
type shaper struct {
	rate uint64 // bits per second

	mu sync.Mutex
	// free is when the line has sent all frames. The tokens are the time since then.
	free time.Time
}

// take returns how long a frame that arrives at a time waits, or false if the queue is full.
func (s *shaper) take(size int, at time.Time) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if full := at.Add(-s.duration(bucketSize)); s.free.Before(full) {
		s.free = full
	}

	if s.free.Sub(at) > max(shaperQueueTime, s.duration(shaperQueueBytes)) {
		return 0, false
	}

	s.free = s.free.Add(s.duration(size))

	return max(s.free.Sub(at), 0), true
}

// duration returns how long the line takes for a number of bytes.
func (s *shaper) duration(bytes int) time.Duration {
	return time.Duration(uint64(bytes) * 8 * uint64(time.Second) / s.rate)
}
