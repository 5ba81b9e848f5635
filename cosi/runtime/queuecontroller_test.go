// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
)

func queueIntToStr(edit func(*transform.Queue[intSpec, strSpec])) controller.QueueController {
	q := transform.Queue[intSpec, strSpec]{
		Name: "QueueIntToStr",
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[intSpec], out *strSpec) error {
			out.Value = strconv.Itoa(in.TypedSpec().Value)

			return nil
		},
	}

	if edit != nil {
		edit(&q)
	}

	return q.Controller()
}

func TestQueueController(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := b.Context()
		in, out := resource.PointerOf[intSpec]("", "one"), resource.PointerOf[strSpec]("", "one")

		b.setInt("one", 1) // before the controller
		b.setInt("two", 2)
		b.ok(b.rt.RegisterQueueController(queueIntToStr(nil)))
		b.settle()
		b.wantStr("one", "1")
		b.wantStr("two", "2")

		b.setInt("one", 11)
		b.settle()
		b.wantStr("one", "11")

		b.ok(b.st.AddFinalizer(ctx, out, "other"))
		ready, err := b.st.Teardown(ctx, in)
		b.ok(err)

		if ready {
			b.Error("the input is ready, but its output exists")
		}

		b.settle()

		if r, err := b.st.Get(ctx, out); err != nil || r.Metadata().Phase() != resource.PhaseTearingDown {
			b.Errorf("output: got %v, %v, want it tearing down", r, err)
		}

		b.ok(b.st.RemoveFinalizer(ctx, out, "other"))
		b.settle()
		b.wantGone(out)
		b.ok(b.st.Destroy(ctx, in))
		b.settle()
		b.wantStr("two", "2")

		if got := b.metrics("QueueIntToStr"); got.Crashes != 0 || got.QueueLength != 0 || got.Processed == 0 {
			b.Errorf("metrics: got %+v", got)
		}
	})
}

func TestQueueKeep(t *testing.T) {
	for name, edit := range map[string]func(*transform.Queue[intSpec, strSpec]){
		"until": func(q *transform.Queue[intSpec, strSpec]) { q.KeepUntil = []string{"allowed"} },
		"while": func(q *transform.Queue[intSpec, strSpec]) { q.KeepWhile = []string{"user"} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				in := resource.PointerOf[intSpec]("", "one")

				b.ok(b.rt.RegisterQueueController(queueIntToStr(edit)))
				b.setInt("one", 1)
				b.settle()
				b.ok(b.st.AddFinalizer(b.Context(), in, "user", "allowed"))
				_, err := b.st.Teardown(b.Context(), in)
				b.ok(err)
				b.settle()
				b.wantStr("one", "1")
				b.ok(b.st.RemoveFinalizer(b.Context(), in, "user"))
				b.settle()
				b.wantGone(resource.PointerOf[strSpec]("", "one"))
			})
		})
	}
}

func TestQueueFailures(t *testing.T) {
	released := false

	inBubble(t, func(b *bench) {
		b.ok(b.rt.RegisterQueueController(queueIntToStr(func(q *transform.Queue[intSpec, strSpec]) {
			inner := q.Transform
			tries := 0

			q.Transform = func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[intSpec], out *strSpec) error {
				switch in.TypedSpec().Value {
				case -1:
					return errors.New("negative")
				case -2:
					panic("very negative")
				case -3:
					if tries++; tries < 3 {
						return controller.RequeueWith(errors.New("soon"), 10*time.Second)
					}
				case -4:
					return errors.Join(controller.ErrSkip, errors.New("no interest"))
				case -5:
					out.Value = time.Now().Format(time.TimeOnly)

					return controller.Requeue(time.Hour)
				case -6:
					return transform.ErrNoOutput
				}

				return inner(ctx, r, log, in, out)
			}
			q.Release = func(context.Context, state.Reader, *slog.Logger, *resource.Typed[intSpec]) error {
				if released {
					return nil
				}

				released = true

				return errors.New("not yet")
			}
		})))

		for id, v := range map[string]int{"error": -1, "panic": -2, "later": -3, "skip": -4, "clock": -5, "good": 7} {
			b.setInt(id, v)
		}

		b.settle()
		b.wantStr("good", "7")
		b.wantStr("clock", time.Now().Format(time.TimeOnly))
		b.wantGone(resource.PointerOf[strSpec]("", "skip"))

		time.Sleep(25 * time.Second)
		b.settle()
		b.wantStr("later", "-3")

		time.Sleep(time.Hour)
		b.settle()
		b.wantStr("clock", time.Now().Add(-25*time.Second).Format(time.TimeOnly))

		// A change of the input fixes the failure at once.
		b.setInt("error", 1)
		b.setInt("panic", 2)
		b.settle()
		b.wantStr("error", "1")
		b.wantStr("panic", "2")

		b.setInt("good", -6)
		b.settle()
		b.wantGone(resource.PointerOf[strSpec]("", "good"))

		// The release fails once.
		in := resource.PointerOf[intSpec]("", "panic")
		_, err := b.st.Teardown(b.Context(), in)
		b.ok(err)
		time.Sleep(2 * time.Second)
		b.settle()
		b.ok(b.st.Destroy(b.Context(), in))

		m := b.metrics("QueueIntToStr")
		if m.Crashes == 0 || m.Requeues < 2 || m.Skips == 0 {
			b.Errorf("metrics: got %+v", m)
		}

		if !strings.Contains(b.log.String(), "very negative") {
			b.Errorf("the log does not have the panic:\n%s", b.log)
		}
	})
}

func TestQueueMapped(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.ok(b.rt.RegisterQueueController(queueIntToStr(func(q *transform.Queue[intSpec, strSpec]) {
			q.Extra = []controller.MappedInput{{
				Input: controller.In[sentenceSpec](controller.Mapped, ""),
				To: func(_ context.Context, _ state.Reader, changed controller.Changed) ([]string, error) {
					id, _ := changed.Labels.Get("for")

					return []string{id}, nil
				},
			}}
			q.Transform = func(ctx context.Context, r state.Reader, _ *slog.Logger, in *resource.Typed[intSpec], out *strSpec) error {
				s, err := r.Get(ctx, resource.PointerOf[sentenceSpec]("", "of-"+in.Metadata().ID()))
				if state.IsNotFound(err) {
					return transform.ErrNoOutput
				}

				if err != nil {
					return err
				}

				out.Value = s.Spec().(*sentenceSpec).Value

				return nil
			}
		})))

		b.setInt("one", 1)
		b.settle()
		b.wantGone(resource.PointerOf[strSpec]("", "one"))

		s := resource.New[sentenceSpec]("", "of-one")
		s.TypedSpec().Value = "hello"
		s.Metadata().SetLabel("for", "one")
		b.ok(b.st.Create(b.Context(), s))
		b.settle()
		b.wantStr("one", "hello")
		b.ok(b.st.Destroy(b.Context(), s.Metadata().Pointer()))
		b.settle()
		b.wantGone(resource.PointerOf[strSpec]("", "one"))
	})
}

// hooked is a queue controller with hooks.
type hooked struct {
	starts, stops, peak, now atomic.Int32
}

func (h *hooked) Name() string { return "Hooked" }

func (h *hooked) Settings() controller.QueueSettings {
	return controller.QueueSettings{
		Inputs:      []controller.Input{controller.In[intSpec](controller.Primary, "")},
		Concurrency: 3,
		RunHook: func(context.Context, controller.Access, *slog.Logger) error {
			if h.starts.Add(1) < 3 {
				return errors.New("not yet")
			}

			return nil
		},
		ShutdownHook: func(ctx context.Context, _ controller.Access, _ *slog.Logger) error {
			h.stops.Add(1)

			return ctx.Err()
		},
	}
}

func (h *hooked) Reconcile(context.Context, controller.Access, *slog.Logger, resource.Pointer) error {
	if n := h.now.Add(1); n > h.peak.Load() {
		h.peak.Store(n)
	}

	time.Sleep(time.Second)
	h.now.Add(-1)

	return nil
}

func TestQueueHooksAndConcurrency(t *testing.T) {
	h := &hooked{}

	inBubble(t, func(b *bench) {
		b.ok(b.rt.RegisterQueueController(h))

		for i := range 10 {
			b.setInt(strconv.Itoa(i), i)
		}

		time.Sleep(10 * time.Second)
		b.settle()

		if h.peak.Load() != 3 || h.starts.Load() != 3 {
			b.Errorf("got %d at once and %d starts of the hook, want 3 and 3", h.peak.Load(), h.starts.Load())
		}
	})

	if h.stops.Load() != 1 {
		t.Errorf("shutdown hook: got %d calls, want 1", h.stops.Load())
	}
}

func TestQueueRegistration(t *testing.T) {
	primary, mapped := controller.In[intSpec](controller.Primary, ""), controller.In[strSpec](controller.Mapped, "")

	for name, tt := range map[string]struct {
		c    controller.QueueController
		want string // in the error, "" for no error
	}{
		"no primary":                 {mapping{settings{[]controller.Input{mapped}}}, "none of the inputs is primary"},
		"weak":                       {settings{[]controller.Input{primary, controller.In[strSpec](controller.Weak, "")}}, "without a queue"},
		"input twice":                {settings{[]controller.Input{primary, primary}}, "declared twice"},
		"mapped":                     {mapping{settings{[]controller.Input{primary, mapped}}}, ""},
		"mapped, but by nothing":     {settings{[]controller.Input{primary, mapped}}, "has no MapInput"},
		"nothing mapped, no mapping": {settings{[]controller.Input{primary}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				err := b.rt.RegisterQueueController(tt.c)
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					b.Errorf("got %v, want %q", err, tt.want)
				}
			})
		})
	}
}

type settings struct{ inputs []controller.Input }

func (settings) Name() string { return "Settings" }
func (s settings) Settings() controller.QueueSettings {
	return controller.QueueSettings{Inputs: s.inputs}
}

func (settings) Reconcile(context.Context, controller.Access, *slog.Logger, resource.Pointer) error {
	return nil
}

// mapping is a controller with MapInput.
type mapping struct{ settings }

func (mapping) MapInput(context.Context, controller.Access, *slog.Logger, controller.Changed) ([]resource.Pointer, error) {
	return nil, nil
}
