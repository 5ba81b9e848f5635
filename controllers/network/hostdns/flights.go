// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"errors"
	"sync"

	"github.com/miekg/dns"
)

// flights are the questions that upstreams are being asked. A question is asked once, however many clients wait for its answer.
type flights struct {
	mu      sync.Mutex
	running map[key]*flight
}

type flight struct {
	landed chan struct{}
	answer *dns.Msg // shared: callers do not change it
	err    error
}

var errPanicked = errors.New("the answer could not be read")

// do returns the result of ask, or that of another call with the same key that runs at this time.
func (f *flights) do(ctx context.Context, k key, ask func() (*dns.Msg, error)) (*dns.Msg, error) {
	f.mu.Lock()

	if other, ok := f.running[k]; ok {
		f.mu.Unlock()

		select {
		case <-other.landed:
			return other.answer, other.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}

	if f.running == nil {
		f.running = map[key]*flight{}
	}

	own := &flight{landed: make(chan struct{}), err: errPanicked}
	f.running[k] = own
	f.mu.Unlock()

	defer func() { // also after a panic
		f.mu.Lock()
		delete(f.running, k)
		f.mu.Unlock()

		close(own.landed)
	}()

	own.answer, own.err = ask()

	return own.answer, own.err
}
