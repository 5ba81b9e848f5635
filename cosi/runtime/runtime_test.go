// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// intToStr creates a string for each int, and keeps a finalizer on the int while the string exists.
func intToStr() controller.Controller {
	return transform.Map[intSpec, strSpec]{
		Name: "IntToStr",
		Hold: true,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[intSpec], out *strSpec) error {
			out.Value = strconv.Itoa(in.TypedSpec().Value)

			return nil
		},
	}.Controller()
}

func strToSentence() controller.Controller {
	return transform.Map[strSpec, sentenceSpec]{
		Name: "StrToSentence",
		Hold: true,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[strSpec], out *sentenceSpec) error {
			out.Value = in.TypedSpec().Value + " sentence"

			return nil
		},
	}.Controller()
}

func TestNoControllers(t *testing.T) { inBubble(t, func(b *bench) { b.setInt("one", 1) }) }

func TestChain(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := b.Context()

		b.setInt("one", 1)
		b.settle()
		b.wantStr("one", "1")

		b.setInt("one", 11)
		b.settle()
		b.wantStr("one", "11")

		b.ok(b.rt.RegisterController(strToSentence())) // after the start
		b.settle()

		s, err := typed.Get[sentenceSpec](ctx, b.st, "", "one")
		b.ok(err)

		if got, want := s.TypedSpec().Value, "11 sentence"; got != want {
			b.Errorf("got %q, want %q", got, want)
		}

		if got, want := s.Metadata().Owner(), "StrToSentence"; got != want {
			b.Errorf("owner: got %q, want %q", got, want)
		}

		b.ok(b.st.TeardownAndDestroy(ctx, resource.PointerOf[intSpec]("", "one")))
		b.settle()
		b.wantGone(resource.PointerOf[strSpec]("", "one"))
		b.wantGone(resource.PointerOf[sentenceSpec]("", "one"))
	}, intToStr())
}

func TestOutputHeldByOthers(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := b.Context()
		in, out := resource.PointerOf[intSpec]("", "one"), resource.PointerOf[strSpec]("", "one")

		b.setInt("one", 1)
		b.settle()
		b.ok(b.st.AddFinalizer(ctx, out, "other"))

		ready, err := b.st.Teardown(ctx, in)
		b.ok(err)

		if ready {
			b.Error("input is ready, but its output exists")
		}

		b.settle()

		r, err := b.st.Get(ctx, out)
		b.ok(err)

		if got := r.Metadata().Phase(); got != resource.PhaseTearingDown {
			b.Errorf("output phase: got %s, want tearingDown", got)
		}

		b.ok(b.st.RemoveFinalizer(ctx, out, "other"))
		b.settle()
		b.wantGone(out)
		b.ok(b.st.Destroy(ctx, in))

		// Torn down again, but needed again before its finalizers are removed: it is created again afterwards.
		b.setInt("one", 2)
		b.settle()
		b.ok(b.st.AddFinalizer(ctx, out, "other"))
		_, err = b.st.Teardown(ctx, in)
		b.ok(err)
		b.settle()

		_, err = b.st.Modify(ctx, resource.New[intSpec]("", "one"), func(r resource.Resource) error {
			r.Metadata().SetPhase(resource.PhaseRunning)

			return nil
		}, state.WithAnyPhase())
		b.ok(err)
		b.settle()
		b.ok(b.st.RemoveFinalizer(ctx, out, "other"))
		b.settle()
		b.wantStr("one", "2")

		if got := b.metrics("IntToStr").Crashes; got != 0 {
			b.Errorf("crashes: got %d, want 0\n%s", got, b.log)
		}
	}, intToStr())
}

func TestErrorOfOneInput(t *testing.T) {
	c := transform.Map[intSpec, strSpec]{
		Name: "Picky",
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[intSpec], out *strSpec) error {
			switch v := in.TypedSpec().Value; {
			case v < 0:
				return errors.New("negative")
			case v == 0:
				return transform.ErrNoOutput
			default:
				out.Value = strconv.Itoa(v)

				return nil
			}
		},
	}.Controller()

	inBubble(t, func(b *bench) {
		b.setInt("a", 1)
		b.setInt("b", 2)
		b.settle()

		b.setInt("a", -1) // its output stays
		b.setInt("c", 3)  // others are processed
		time.Sleep(time.Second)
		b.wantStr("a", "1")
		b.wantStr("b", "2")
		b.wantStr("c", "3")

		b.setInt("a", 0) // no output
		time.Sleep(2 * time.Minute)
		b.wantGone(resource.PointerOf[strSpec]("", "a"))
		b.wantStr("c", "3")
	}, c)
}

// adder sums all ints into one, as a plain loop.
type adder struct {
	name, id string
	query    []state.ListOption
}

func (a *adder) Name() string { return a.name }
func (a *adder) Inputs() []controller.Input {
	return []controller.Input{controller.In[intSpec](controller.Weak, "")}
}

func (a *adder) Outputs() []controller.Output {
	return []controller.Output{controller.Out[intSpec](controller.Shared)}
}

func (a *adder) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		}

		ints, err := typed.List[intSpec](ctx, rt, "", a.query...)
		if err != nil {
			return err
		}

		sum := 0
		for _, i := range ints {
			sum += i.TypedSpec().Value
		}

		if err := typed.Set(ctx, rt, "sums", a.id, intSpec{sum}); err != nil {
			return err
		}
	}
}

func TestSharedOutputs(t *testing.T) {
	even := &adder{name: "Even", id: "even", query: []state.ListOption{state.WithLabelQuery(resource.LabelIs("even", "true"))}}

	inBubble(t, func(b *bench) {
		for i := range 10 {
			r := resource.New[intSpec]("", strconv.Itoa(i))
			r.TypedSpec().Value = i
			r.Metadata().SetLabel("even", strconv.FormatBool(i%2 == 0))
			b.ok(b.st.Create(b.Context(), r))
		}

		b.settle()
		b.ok(b.rt.RegisterController(even))
		b.settle()

		for id, want := range map[string]int{"all": 45, "even": 20} {
			got, err := typed.Get[intSpec](b.Context(), b.st, "sums", id)
			b.ok(err)

			if got.TypedSpec().Value != want {
				b.Errorf("sum %s: got %d, want %d", id, got.TypedSpec().Value, want)
			}
		}
	}, &adder{name: "All", id: "all"})
}

func TestFailureAndPanic(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("no luck") },
		"panic": func() error { panic("no luck") },
	} {
		t.Run(name, func(t *testing.T) {
			var starts []time.Time

			c := &controller.Reconciler{
				ControllerName: "Failing",
				Writes:         []controller.Output{controller.Out[strSpec](controller.Exclusive)},
				Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
					starts = append(starts, time.Now())

					if len(starts) < 6 {
						return fail()
					}

					return typed.Set(ctx, rt, "", "done", strSpec{"at last"})
				},
			}

			inBubble(t, func(b *bench) {
				time.Sleep(time.Minute)
				b.settle()
				b.wantStr("done", "at last")

				if len(starts) != 6 {
					b.Fatalf("starts: got %d, want 6", len(starts))
				}

				want := 500 * time.Millisecond
				for i := range 5 {
					got := starts[i+1].Sub(starts[i])
					if got < want/2 || got > want*3/2 {
						b.Errorf("delay %d: got %s, want %s plus or minus half of it", i, got, want)
					}

					want = want * 3 / 2
				}

				if got := b.metrics("Failing").Crashes; got != 5 {
					b.Errorf("crashes: got %d, want 5", got)
				}

				if !strings.Contains(b.log.String(), "no luck") || !strings.Contains(b.log.String(), "controller=Failing") {
					b.Errorf("the log does not name the failure:\n%s", b.log)
				}

				// The others are not affected.
				b.setInt("one", 1)
				b.settle()
				b.wantStr("one", "1")
			}, c, func() controller.Controller {
				m := transform.Map[intSpec, strSpec]{Name: "Other", Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, _ *resource.Typed[intSpec], out *strSpec) error {
					out.Value = "1"

					return nil
				}, Writes: controller.Shared}.Controller()
				c.Writes[0].Kind = controller.Shared

				return m
			}())
		})
	}
}

func TestChangeCutsBackoffShort(t *testing.T) {
	runs := 0

	c := &controller.Reconciler{
		ControllerName: "Needy",
		Reads:          []controller.Input{controller.In[intSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[strSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			runs++

			if _, err := typed.Get[intSpec](ctx, rt, "", "needed"); err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", "out", strSpec{"made"})
		},
	}

	inBubble(t, func(b *bench) {
		time.Sleep(10 * time.Minute) // by now it waits up to a minute
		b.settle()

		before := runs
		b.setInt("needed", 1)
		time.Sleep(time.Second)
		b.settle()
		b.wantStr("out", "made")

		if runs != before+1 {
			b.Errorf("runs: got %d, want 1", runs-before)
		}
	}, c)
}

func TestOutputTracking(t *testing.T) {
	doubler := &controller.Reconciler{
		ControllerName: "Doubler",
		Reads:          []controller.Input{controller.In[intSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[strSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[strSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			ints, err := typed.List[intSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			for _, i := range ints {
				if err := typed.Set(ctx, rt, "", i.Metadata().ID(), strSpec{strconv.Itoa(2 * i.TypedSpec().Value)}); err != nil {
					return err
				}
			}

			return nil
		},
	}

	inBubble(t, func(b *bench) {
		b.ok(b.st.Create(b.Context(), resource.New[strSpec]("", "foreign")))
		b.setInt("a", 1)
		b.setInt("b", 2)
		b.settle()
		b.wantStr("a", "2")
		b.wantStr("b", "4")

		b.ok(b.st.Destroy(b.Context(), resource.PointerOf[intSpec]("", "a")))
		b.settle()
		b.wantGone(resource.PointerOf[strSpec]("", "a"))
		b.wantStr("b", "4")
		b.wantStr("foreign", "")
	}, doubler)
}

func TestNothingWakesOnNoChange(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.setInt("one", 1)
		b.settle()

		before := b.metrics("StrToSentence").Wakeups

		for range 5 {
			b.setInt("one", 1)
			b.settle()
		}

		if got := b.metrics("StrToSentence").Wakeups; got != before {
			b.Errorf("wakeups: got %d, want %d", got, before)
		}
	}, intToStr(), strToSentence())
}
