// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a writer that takes a time for each call.
type slowly time.Duration

func (s slowly) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(s))

	return len(b), nil
}

// TestDrain: the output of a container is passed on to its end, unless its caller has gone, or a process that does not end holds it open.
func TestDrain(t *testing.T) {
	const quiet = 15 * time.Second

	for _, tt := range []struct {
		name string
		// each write takes a time, and there is a pause after it; then the output stays open for a time.
		each, pause, open time.Duration
		writes            int
		gone              time.Duration // when the caller is, or 0
		want              time.Duration
	}{
		{name: "nothing is left", want: 0},
		{name: "some is left", writes: 4, each: time.Second, want: 4 * time.Second},
		{name: "the caller is slow", writes: 3, each: time.Minute, want: 3 * time.Minute},
		{name: "the output comes slowly", writes: 5, pause: 10 * time.Second, want: 50 * time.Second},
		{name: "the caller has gone", writes: 3, each: time.Minute, gone: 70 * time.Second, want: 70 * time.Second},
		{name: "a process stays", writes: 1, each: time.Second, open: time.Hour, want: 2 * quiet},
		{name: "a process stays that prints nothing", open: time.Hour, want: quiet},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				if tt.gone > 0 {
					time.AfterFunc(tt.gone, cancel)
				}

				p := &passed{w: slowly(tt.each)}

				var output sync.WaitGroup

				output.Go(func() {
					for range tt.writes {
						if _, err := p.Write([]byte("x")); err != nil {
							t.Error(err)
						}

						time.Sleep(tt.pause)
					}

					time.Sleep(tt.open)
				})

				start := time.Now()
				p.drain(ctx, output.Wait, quiet)

				if got := time.Since(start); got != tt.want {
					t.Errorf("took %s, want %s", got, tt.want)
				}

				output.Wait()
				synctest.Wait()
			})
		})
	}
}
