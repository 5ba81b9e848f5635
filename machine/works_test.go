// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestPulse: process 1 works while its state and its supervisor answer, and not while one of them hangs.
func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()

		// Who has the token of a channel has the lock. Time goes on in a bubble while one waits for a channel, but not for a mutex.
		lock := make(chan struct{}, 1)

		st := &mute{State: memory.New(), lock: make(chan struct{}, 1)}
		p := &pulse{life: ctx, state: st, answer: func() { lock <- struct{}{}; <-lock }}

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

		lock <- struct{}{}

		if _, ok := returns(ctx, func() { <-lock }); ok {
			t.Error("it works although the supervisor hangs")
		}

		st.lock <- struct{}{}

		if _, ok := returns(ctx, func() { <-st.lock }); ok {
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

	lock chan struct{}
	err  error
}

func (m *mute) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	m.lock <- struct{}{}
	defer func() { <-m.lock }()

	if m.err != nil {
		return nil, m.err
	}

	return m.State.Modify(ctx, empty, fn, opts...)
}
