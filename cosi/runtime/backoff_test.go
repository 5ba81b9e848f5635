// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
)

// TestBusyInputDoesNotDefeatBackoff: the attempts of a failing controller become less frequent, also while an input changes
// all the time. After a quiet time, one change starts an attempt at once again.
func TestBusyInputDoesNotDefeatBackoff(t *testing.T) {
	var (
		attempts atomic.Int64
		fail     = func() error {
			attempts.Add(1)

			return errors.New("no")
		}
	)

	for name, add := range map[string]func(b *bench) error{
		"controller": func(b *bench) error {
			return b.rt.RegisterController(&controller.Reconciler{
				ControllerName: "Fails", Reads: []controller.Input{controller.In[intSpec](controller.Weak, "")},
				Reconcile: func(context.Context, controller.Runtime, *slog.Logger) error { return fail() },
			})
		},
		"queue controller": func(b *bench) error {
			return b.rt.RegisterQueueController(queueIntToStr(func(q *transform.Queue[intSpec, strSpec]) {
				q.Transform = func(context.Context, state.Reader, *slog.Logger, *resource.Typed[intSpec], *strSpec) error {
					return fail()
				}
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			attempts.Store(0)

			inBubble(t, func(b *bench) {
				b.ok(add(b))

				for i := range 600 { // a minute
					b.setInt("busy", i)
					time.Sleep(100 * time.Millisecond)
				}

				// 0.5 s, growing by a half each time, makes ten in a minute; half of that at random makes some more.
				if got := attempts.Load(); got < 8 || got > 20 {
					b.Errorf("attempts in a busy minute: got %d, want about 11", got)
				}

				time.Sleep(10 * time.Minute)
				b.settle()

				before := attempts.Load()
				b.setInt("busy", -1)
				b.settle()

				if got := attempts.Load() - before; got != 1 {
					b.Errorf("a change after ten quiet minutes: got %d attempts, want 1", got)
				}
			})
		})
	}
}
