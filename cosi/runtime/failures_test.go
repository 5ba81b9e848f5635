// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

func (b *bench) wantFailing(name, resource, text string, failures uint32) {
	b.Helper()

	r, err := typed.Get[meta.ControllerStatusSpec](b.Context(), b.st, "", name)
	b.ok(err)

	want := meta.ControllerStatusSpec{Error: text, Resource: resource, Failures: failures, Since: r.TypedSpec().Since}
	if diff := cmp.Diff(want, *r.TypedSpec()); diff != "" {
		b.Errorf("status of %s (-want +got):\n%s", name, diff)
	}

	if since := r.TypedSpec().Since; since.IsZero() || since.After(time.Now()) {
		b.Errorf("status of %s: since %s, now %s", name, since, time.Now())
	}
}

// TestFailuresShown: a controller has a status from its first failure until its next success. The status of a panic has no
// stack.
func TestFailuresShown(t *testing.T) {
	var well atomic.Bool

	inBubble(t, func(b *bench) {
		b.wantFailing("Failing", "", "no route to host", 1)
		time.Sleep(10 * time.Second)
		b.settle()

		r, err := typed.Get[meta.ControllerStatusSpec](b.Context(), b.st, "", "Failing")
		b.ok(err)

		if r.TypedSpec().Failures < 3 {
			b.Errorf("after ten seconds: got %d failures, want some more", r.TypedSpec().Failures)
		}

		well.Store(true)

		time.Sleep(time.Minute)
		b.settle()
		b.wantGone(meta.ControllerStatusOf("Failing"))

		b.ok(b.rt.RegisterController(&controller.Reconciler{
			ControllerName: "Panicking",
			Reconcile:      func(context.Context, controller.Runtime, *slog.Logger) error { panic("nil map") },
		}))
		b.settle()
		b.wantFailing("Panicking", "", "panic: nil map", 1)

		b.ok(b.rt.RegisterController(&controller.Reconciler{
			ControllerName: "Talkative",
			Reconcile: func(context.Context, controller.Runtime, *slog.Logger) error {
				return errors.New(strings.Repeat("é", 5000) + "\xff")
			},
		}))
		b.settle()

		if r, err = typed.Get[meta.ControllerStatusSpec](b.Context(), b.st, "", "Talkative"); err != nil || len(r.TypedSpec().Error) > 2100 {
			b.Errorf("a long error: got %v, %v, want a short one", r, err)
		}
	}, &controller.Reconciler{
		ControllerName: "Failing",
		Reconcile: func(context.Context, controller.Runtime, *slog.Logger) error {
			if well.Load() {
				return nil
			}

			return errors.New("no route to host")
		},
	})
}

// TestQueueFailuresShown: a queue controller has a status until none of its resources fails.
func TestQueueFailuresShown(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.ok(b.rt.RegisterQueueController(queueIntToStr(func(q *transform.Queue[intSpec, strSpec]) {
			inner := q.Transform

			q.Transform = func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[intSpec], out *strSpec) error {
				if in.TypedSpec().Value < 0 {
					return errors.New("negative")
				}

				return inner(ctx, r, log, in, out)
			}
		})))

		b.setInt("one", 1)
		b.settle()
		b.wantGone(meta.ControllerStatusOf("QueueIntToStr"))

		b.setInt("one", -1)
		b.settle()
		b.wantFailing("QueueIntToStr", "Ints.test.cosi.dev(ints/one)", "negative", 1)

		b.setInt("two", -2)
		b.settle()
		b.wantFailing("QueueIntToStr", "Ints.test.cosi.dev(ints/two)", "negative", 3)

		b.setInt("two", 2)
		time.Sleep(time.Second) // it has failed twice, because its own finalizer woke it
		b.settle()

		r, err := typed.Get[meta.ControllerStatusSpec](b.Context(), b.st, "", "QueueIntToStr")
		b.ok(err)
		b.wantFailing("QueueIntToStr", "Ints.test.cosi.dev(ints/one)", "negative", r.TypedSpec().Failures) // it still fails

		b.setInt("one", 1)
		time.Sleep(time.Second)
		b.settle()
		b.wantGone(meta.ControllerStatusOf("QueueIntToStr"))
	})
}

// TestStaleStatus: statuses of an earlier start are destroyed, those of others stay, and the current failures are shown, as
// soon as the state accepts the writes.
func TestStaleStatus(t *testing.T) {
	mem := memory.New()
	st := &failing{State: mem}

	inBubbleOf(t, st, func(b *bench) {
		for id, owner := range map[string]string{"Gone": "runtime", "Failing": "runtime", "Healthy": "runtime", "Other": "elsewhere"} {
			b.ok(typed.Set(b.Context(), mem, "", id, meta.ControllerStatusSpec{Error: "long ago"}, state.WithOwner(owner)))
		}

		st.down.Store(true)
		b.begin()
		time.Sleep(10 * time.Second)
		b.settle()

		st.down.Store(false)
		time.Sleep(time.Minute)
		b.settle()

		b.wantGone(meta.ControllerStatusOf("Gone"))
		b.wantGone(meta.ControllerStatusOf("Healthy"))

		for id, want := range map[string]string{"Failing": "no luck", "Other": "long ago"} {
			if r, err := typed.Get[meta.ControllerStatusSpec](b.Context(), mem, "", id); err != nil || r.TypedSpec().Error != want {
				b.Errorf("status of %s: got %v, %v, want %q", id, r, err, want)
			}
		}
	}, named("Healthy", nil), &controller.Reconciler{
		ControllerName: "Failing",
		Reconcile:      func(context.Context, controller.Runtime, *slog.Logger) error { return errors.New("no luck") },
	})
}
