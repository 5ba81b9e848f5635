// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestPulse: process 1 works while its state and its supervisor answer, and the pulse is no resource that clients see.
func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()

		var lock sync.Mutex

		st := &mute{State: memory.New()}
		p := &pulse{state: st, answer: func() { lock.Lock(); defer lock.Unlock() }}

		// returns reports whether works returns within a minute.
		returns := func(ctx context.Context, during func()) (error, bool) {
			done := guard.Go(func() error { return p.works(ctx) })

			time.Sleep(time.Minute)

			select {
			case err := <-done:
				return err, true
			default:
				during()
				<-done

				return nil, false
			}
		}

		for range 100 {
			if err := p.works(ctx); err != nil {
				t.Fatal(err)
			}
		}

		lock.Lock()

		if _, ok := returns(ctx, lock.Unlock); ok {
			t.Error("it works although the supervisor hangs")
		}

		st.lock.Lock()

		if _, ok := returns(ctx, st.lock.Unlock); ok {
			t.Error("it works although the state hangs")
		}

		st.err = errors.New("broken")
		if err, ok := returns(ctx, func() {}); !ok || !errors.Is(err, st.err) {
			t.Errorf("a state that refuses writes: got %v", err)
		}

		st.err = nil
		if err := p.works(ctx); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// mute is a state that can hang or fail.
type mute struct {
	state.State

	lock sync.Mutex
	err  error
}

func (m *mute) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	m.lock.Lock()
	defer m.lock.Unlock()

	if m.err != nil {
		return nil, m.err
	}

	return m.State.Modify(ctx, empty, fn, opts...)
}
