// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestFailedStart: a controller that cannot be started leaves nothing behind, and can be started later.
func TestFailedStart(t *testing.T) {
	register := map[string]func(rt *runtime.Runtime) error{
		"controller":       func(rt *runtime.Runtime) error { return rt.RegisterController(intToStr()) },
		"queue controller": func(rt *runtime.Runtime) error { return rt.RegisterQueueController(queueIntToStr(nil)) },
	}

	for name, add := range register {
		t.Run("registration of a "+name, func(t *testing.T) {
			st := &failing{State: memory.New()}

			inBubbleOf(t, st, func(b *bench) {
				b.begin()
				st.down.Store(true)

				if err := add(b.rt); !errors.Is(err, errDown) {
					b.Fatalf("registered without a watch: %v", err)
				}

				if edges := b.rt.Graph(); len(edges) > 0 {
					b.Errorf("it is in the graph: %v", edges)
				}

				st.down.Store(false)
				b.ok(add(b.rt))
				b.setInt("one", 1)
				b.settle()
				b.wantStr("one", "1")
			})
		})

		t.Run("run of a "+name, func(t *testing.T) {
			st := &failing{State: memory.New()}

			inBubbleOf(t, st, func(b *bench) {
				b.ok(add(b.rt))

				for range 2 {
					st.down.Store(true)

					if err := b.rt.Run(b.Context()); !errors.Is(err, errDown) {
						b.Fatalf("run without a watch: %v", err)
					}

					// Also after a run without an error.
					st.down.Store(false)
					ctx, cancel := context.WithTimeout(b.Context(), time.Second)
					b.ok(b.rt.Run(ctx))
					cancel()
				}

				b.begin()
				b.setInt("one", 1)
				b.settle()
				b.wantStr("one", "1")
			})
		})
	}
}

// TestFailedUpdate: inputs that cannot be watched are not declared, and the wait for the finalizers of an output is tried
// again if it cannot be started.
func TestFailedUpdate(t *testing.T) {
	st := &failing{State: memory.New()}

	t.Run("inputs", func(t *testing.T) {
		var got []error

		c := named("a", []controller.Input{controller.In[intSpec](controller.Weak, "")})
		c.Reconcile = func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			st.down.Store(true)
			defer st.down.Store(false)

			err := rt.UpdateInputs([]controller.Input{controller.In[strSpec](controller.Weak, "")})
			_, denied := rt.Get(ctx, resource.PointerOf[strSpec]("", "x"))
			_, allowed := rt.Get(ctx, resource.PointerOf[intSpec]("", "x"))
			got = []error{err, denied, allowed}

			return nil
		}

		inBubbleOf(t, st, func(b *bench) {
			b.begin()

			if len(got) != 3 || !errors.Is(got[0], errDown) || state.ClassOf(got[1]) != state.AccessDenied || !state.IsNotFound(got[2]) {
				b.Errorf("update, get of a new input, get of the old one: got %v", got)
			}
		}, c)
	})

	t.Run("finalizers", func(t *testing.T) {
		inBubbleOf(t, st, func(b *bench) {
			in, out := resource.PointerOf[intSpec]("", "one"), resource.PointerOf[strSpec]("", "one")

			b.begin()
			b.setInt("one", 1)
			b.settle()
			b.ok(b.st.AddFinalizer(b.Context(), out, "other"))
			st.unwatched.Store(true)
			_, err := b.st.Teardown(b.Context(), in)
			b.ok(err)
			time.Sleep(time.Minute)
			st.unwatched.Store(false)
			time.Sleep(5 * time.Minute)
			b.ok(b.st.RemoveFinalizer(b.Context(), out, "other"))
			b.settle()
			b.wantGone(out)
		}, intToStr())
	})
}

// TestStartRetry: the server may start later than the controllers. A permanent error ends the run.
func TestStartRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &failing{State: memory.New()}
		st.down.Store(true)

		b := &bench{T: t, st: st, log: &bytes.Buffer{}}
		b.rt = runtime.New(st, slog.New(slog.NewTextHandler(b.log, nil)), runtime.WithStartRetry())
		b.ok(b.rt.RegisterController(intToStr()))
		b.begin()
		time.Sleep(5 * time.Minute)

		st.down.Store(false)
		time.Sleep(2 * time.Minute)
		b.setInt("one", 1)
		b.settle()
		b.wantStr("one", "1")

		refusing := refuser{err: state.NewError(state.AccessDenied, "watch", resource.Pointer{}, "no")}
		rt := runtime.New(refusing, slog.New(slog.DiscardHandler), runtime.WithStartRetry())
		b.ok(rt.RegisterController(intToStr()))

		if err := rt.Run(b.Context()); state.ClassOf(err) != state.AccessDenied {
			b.Errorf("permanent refusal: got %v", err)
		}
	})
}

// refuser refuses every watch. No other method is called.
type refuser struct {
	state.State
	err error
}

func (r refuser) WatchKindAggregated(context.Context, resource.Kind, chan<- []state.Event, ...state.WatchKindOption) error {
	return r.err
}

// subscriptions counts the live subscriptions.
type subscriptions struct {
	*memory.State
	live atomic.Int32
}

func (s *subscriptions) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	s.live.Add(1)
	context.AfterFunc(ctx, func() { s.live.Add(-1) })

	return s.State.Notify(ctx, kind, fn)
}

// watchedState is a state without Notify.
type watchedState struct {
	state.State
	live atomic.Int32
}

func (s *watchedState) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	s.live.Add(1)
	context.AfterFunc(ctx, func() { s.live.Add(-1) })

	return s.State.WatchKindAggregated(ctx, kind, ch, opts...)
}

// TestInputsGivenUp: a removed input is unsubscribed, unless another controller reads it.
func TestInputsGivenUp(t *testing.T) {
	notifying := &subscriptions{State: memory.New()}
	watching := &watchedState{State: memory.New()}

	for name, tt := range map[string]struct {
		st   state.State
		live *atomic.Int32
	}{
		"notified": {notifying, &notifying.live},
		"watched":  {watching, &watching.live},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0

			moves := named("Moves", []controller.Input{controller.In[intSpec](controller.Weak, "")})
			moves.Reconcile = func(_ context.Context, rt controller.Runtime, _ *slog.Logger) error {
				runs++

				for i := range 100 {
					if err := rt.UpdateInputs([]controller.Input{controller.In[intSpec](controller.Weak, fmt.Sprint("ns", i))}); err != nil {
						return err
					}
				}

				return rt.UpdateInputs([]controller.Input{controller.In[intSpec](controller.Weak, "last"), controller.In[intSpec](controller.Weak, "ns1")})
			}

			others := 0

			stays := named("Stays", []controller.Input{controller.In[intSpec](controller.Weak, "")})
			stays.Reconcile = func(context.Context, controller.Runtime, *slog.Logger) error { others++; return nil }

			inBubbleOf(t, tt.st, func(b *bench) {
				b.begin()
				b.settle()

				if got := tt.live.Load(); got != 3 {
					b.Errorf("subscriptions: got %d, want 3", got)
				}

				b.ok(b.st.Create(b.Context(), resource.New[intSpec]("ns0", "x")))
				b.setInt("x", 1)
				b.settle()

				if runs != 1 || others != 2 {
					b.Errorf("runs: got %d and %d, want 1 and 2", runs, others)
				}

				for i, ns := range []string{"last", "ns1"} { // removed in between
					b.ok(b.st.Create(b.Context(), resource.New[intSpec](ns, "x")))
					b.settle()

					if runs != i+2 {
						b.Errorf("runs after a change in %s: got %d, want %d", ns, runs, i+2)
					}
				}
			}, moves, stays)
		})
	}
}

// TestFinished: a controller with inputs that returns nil is logged.
func TestFinished(t *testing.T) {
	for name, want := range map[string]string{"with inputs": "level=WARN", "without": "level=INFO"} {
		t.Run(name, func(t *testing.T) {
			c := &once{}
			if name == "with inputs" {
				c.inputs = []controller.Input{controller.In[intSpec](controller.Weak, "")}
			}

			inBubble(t, func(b *bench) {
				b.setInt("one", 1)
				b.settle()

				if !b.metrics("Once").Finished || c.runs != 1 {
					b.Errorf("got %+v and %d runs, want it finished after one", b.metrics("Once"), c.runs)
				}

				if !strings.Contains(b.log.String(), want) {
					b.Errorf("log: got %q, want a line with %s", b.log, want)
				}
			}, c)
		})
	}
}

// once is a controller whose Run returns nil.
type once struct {
	inputs []controller.Input
	runs   int
}

func (*once) Name() string                 { return "Once" }
func (o *once) Inputs() []controller.Input { return o.inputs }
func (*once) Outputs() []controller.Output { return nil }

func (o *once) Run(context.Context, controller.Runtime, *slog.Logger) error {
	o.runs++

	return nil
}
