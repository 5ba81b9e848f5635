// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(gate, 2)

		for range 2 {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		if err := g.enter(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("full: got %v, want %v", err, ErrBusy)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		if err := g.enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("full, for a caller that does not wait: got %v", err)
		}

		time.AfterFunc(time.Second, g.leave)

		if err := g.enter(t.Context()); err != nil {
			t.Errorf("full, but not for long: got %v", err)
		}
	})
}

// Whatever the calls do, every caller has left at the end.
func TestGatesAreLeft(t *testing.T) {
	root := t.TempDir()

	for _, path := range []string{root, root + "/none", "/proc/self/comm", "/proc/self/mem", "/dev/null"} {
		if c, err := Open(t.Context(), path, true); err == nil {
			for err == nil {
				_, err = c.Next()
			}

			c.Close()
		}

		Statfs(t.Context(), path)
		Walk(t.Context(), path, 1, func(Entry) error { return errors.New("") })
	}

	for deadline := time.Now().Add(time.Minute); len(calls) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls still wait", len(calls))
		}
	}
}
