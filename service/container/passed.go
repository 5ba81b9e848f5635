// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// passed passes on what a container prints to two streams, one call at a time.
type passed struct {
	mu sync.Mutex
	w  io.Writer
	// begun and done count the calls.
	begun, done atomic.Int64
}

// Write implements io.Writer.
func (p *passed) Write(b []byte) (int, error) {
	p.begun.Add(1)
	defer p.done.Add(1)

	p.mu.Lock()
	defer p.mu.Unlock()

	return p.w.Write(b)
}

// drain returns when the output of a container that has ended was passed on to its end, which is when wait returns. A caller may read as slowly
// as it likes. If nothing is printed for a time, a process that has left the container holds the output open: drain does not wait for that one.
func (p *passed) drain(ctx context.Context, wait func(), quiet time.Duration) {
	ended := guard.Go(func() error {
		wait()

		return nil
	})

	for {
		before := p.begun.Load()

		select {
		case <-ended:
			return
		case <-ctx.Done():
			return
		case <-time.After(quiet):
		}

		if p.begun.Load() == before && p.done.Load() == before {
			return
		}
	}
}
