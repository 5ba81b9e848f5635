// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// endless is a controller that wakes itself without end while on is set.
type endless struct {
	on     atomic.Bool
	rounds atomic.Int64
	named  []string // controllers that need a status
	add    func(b *bench, e *endless)
}

func addCircle(b *bench, e *endless) {
	b.ok(b.rt.RegisterController(transform.Map[intSpec, strSpec]{
		Name: "There",
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[intSpec], out *strSpec) error {
			out.Value = strconv.Itoa(in.TypedSpec().Value + 1)

			return nil
		},
	}.Controller()))

	b.ok(b.rt.RegisterController(&controller.Reconciler{
		ControllerName: "Back",
		Reads:          []controller.Input{controller.In[strSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[intSpec](controller.Shared)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			s, err := typed.Find[strSpec](ctx, rt, "", "circle")
			if s == nil || err != nil || !e.on.Load() {
				return err
			}

			e.rounds.Add(1)

			n, err := strconv.Atoi(s.TypedSpec().Value)
			if err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", "circle", intSpec{n})
		},
	}))

	b.ok(typed.Set(b.Context(), b.st, "", "circle", intSpec{1}, state.WithOwner("Back")))
}

// endlessQueue is a queue controller that requeues the resource "circle" without end.
type endlessQueue struct {
	name      string
	reconcile func(ctx context.Context, rt controller.Access, ptr resource.Pointer) error
}

func (q endlessQueue) Name() string { return q.name }

func (endlessQueue) Settings() controller.QueueSettings {
	return controller.QueueSettings{
		Inputs:  []controller.Input{controller.In[intSpec](controller.Primary, "")},
		Outputs: []controller.Output{controller.Out[intSpec](controller.Shared)},
	}
}

func (q endlessQueue) Reconcile(ctx context.Context, rt controller.Access, _ *slog.Logger, ptr resource.Pointer) error {
	if ptr.ID != "circle" {
		return nil
	}

	return q.reconcile(ctx, rt, ptr)
}

func addQueue(name string, again func(ctx context.Context, rt controller.Access, e *endless) error) func(b *bench, e *endless) {
	return func(b *bench, e *endless) {
		b.ok(b.rt.RegisterQueueController(endlessQueue{name, func(ctx context.Context, rt controller.Access, _ resource.Pointer) error {
			if !e.on.Load() {
				return nil
			}

			e.rounds.Add(1)

			return again(ctx, rt, e)
		}}))
		b.ok(typed.Set(b.Context(), b.st, "", "circle", intSpec{1}, state.WithOwner(name)))
	}
}

// TestRateLimit: a controller that would run without end is limited, and its status says so until that is over.
func TestRateLimit(t *testing.T) {
	for name, e := range map[string]*endless{
		"two in a circle": {named: []string{"There", "Back"}, add: addCircle},
		"wakes itself": {named: []string{"Restless"}, add: func(b *bench, e *endless) {
			b.ok(b.rt.RegisterController(&controller.Reconciler{
				ControllerName: "Restless",
				Reconcile: func(_ context.Context, rt controller.Runtime, _ *slog.Logger) error {
					if e.on.Load() {
						e.rounds.Add(1)
						rt.QueueReconcile()
					}

					return nil
				},
			}))
		}},
		"queue, changes its input": {named: []string{"Self"}, add: addQueue("Self", func(ctx context.Context, rt controller.Access, e *endless) error {
			return typed.Set(ctx, rt, "", "circle", intSpec{10 + int(e.rounds.Load())})
		})},
		"queue, again at once": {named: []string{"Again"}, add: addQueue("Again", func(context.Context, controller.Access, *endless) error {
			return controller.Requeue(0)
		})},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				e.on.Store(true)
				e.add(b, e)

				limit := runtime.DefaultRateLimit

				const seconds = 60

				time.Sleep(seconds * time.Second)
				b.settle()

				if got, most := int(e.rounds.Load()), limit.Burst+(seconds+1)*limit.PerSecond; got > most || got < limit.Burst {
					b.Errorf("rounds in %d s: got %d, want at most %d, and %d at least", seconds, got, most, limit.Burst)
				}

				told := 0

				for _, c := range e.named { // of two, the limited one slows the other down
					r, err := typed.Get[meta.ControllerStatusSpec](b.Context(), b.st, "", c)
					if err == nil && strings.Contains(r.TypedSpec().Error, "rate limited to 100 rounds a second") && r.TypedSpec().Failures == 0 {
						told++
					}
				}

				if told == 0 || !strings.Contains(b.log.String(), "rate limited") {
					b.Errorf("no status of %v says that it is rate limited; log:\n%s", e.named, b.log)
				}

				e.on.Store(false)
				time.Sleep(10 * time.Second)
				b.settle()

				for _, c := range e.named {
					b.wantGone(meta.ControllerStatusOf(c))
				}
			})
		})
	}
}

// TestNoRateLimit: a controller that has much work, but finishes it, is not limited.
func TestNoRateLimit(t *testing.T) {
	const many = 5000

	inBubble(t, func(b *bench) {
		start := time.Now()

		b.ok(b.rt.RegisterQueueController(queueIntToStr(nil)))

		for i := range many {
			b.setInt(strconv.Itoa(i), i)
		}

		b.settle()

		if now := time.Now(); now.After(start) {
			b.Errorf("it took %s, want no time", now.Sub(start))
		}

		b.wantStr(strconv.Itoa(many-1), strconv.Itoa(many-1))

		time.Sleep(time.Minute)
		b.settle()
		b.wantGone(meta.ControllerStatusOf("QueueIntToStr"))
	})

	inBubble(t, func(b *bench) {
		for i := range many { // each wakes it
			b.setInt("one", i)
		}

		time.Sleep(2 * time.Second)
		b.settle()
		b.wantStr("one", strconv.Itoa(many-1))
		b.wantGone(meta.ControllerStatusOf("IntToStr"))
	}, intToStr())
}
