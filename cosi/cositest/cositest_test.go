// SPDX-License-Identifier: Apache-2.0

package cositest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

type hostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

type greetingSpec struct {
	Text string `yaml:"text" protobuf:"1"`
}

var (
	hostDefinition     = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}
	greetingDefinition = &resource.Definition{Type: "Greetings.example.org", DefaultNamespace: "default"}
)

func (hostSpec) Definition() *resource.Definition     { return hostDefinition }
func (greetingSpec) Definition() *resource.Definition { return greetingDefinition }

func greet(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[hostSpec], out *greetingSpec) error {
	if in.TypedSpec().Name == "" {
		return errors.New("a host without a name")
	}

	out.Text = "Hello, " + in.TypedSpec().Name

	return nil
}

func controllers() map[string]cositest.Named {
	return map[string]cositest.Named{
		"controller":       transform.Map[hostSpec, greetingSpec]{Name: "Greeting", Transform: greet, Hold: true}.Controller(),
		"queue controller": transform.Queue[hostSpec, greetingSpec]{Name: "Greeting", Transform: greet}.Controller(),
	}
}

// TestEnvironment is a test of a controller, as another project would write it.
func TestEnvironment(t *testing.T) {
	for name, c := range controllers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := cositest.Start(t, c)

				cositest.Set(e, "web", hostSpec{"www"})

				if got := cositest.Wait[greetingSpec](e, "web", nil); got.Text != "Hello, www" {
					t.Errorf("got %q, want Hello, www", got.Text)
				}

				cositest.Set(e, "web", hostSpec{"web"})

				r := cositest.WaitResource(e, "web", func(r *resource.Typed[greetingSpec]) bool { return r.TypedSpec().Text == "Hello, web" })
				if r.Metadata().Owner() != "Greeting" || cositest.Version[greetingSpec](e, "web") != 2 {
					t.Errorf("got %s of %q, want version 2 of Greeting", r.Metadata(), r.Metadata().Owner())
				}

				e.Quiet(time.Hour)
				cositest.Teardown[hostSpec](e, "web")
				cositest.WaitGone[greetingSpec](e, "web")
			})
		})
	}
}

// TestAccess is a test of one function of a controller.
func TestAccess(t *testing.T) {
	ctx, st := t.Context(), memory.New()
	host := resource.New[hostSpec]("", "web")
	host.TypedSpec().Name = "www"

	if err := st.Create(ctx, host); err != nil {
		t.Fatal(err)
	}

	c := transform.Queue[hostSpec, greetingSpec]{Name: "Greeting", Transform: greet}.Controller()
	a := cositest.Access(t, st, c)

	if err := c.Reconcile(ctx, a, slog.New(slog.DiscardHandler), host.Metadata().Pointer()); err != nil {
		t.Fatal(err)
	}

	if r, err := typed.Get[greetingSpec](ctx, st, "", "web"); err != nil || r.TypedSpec().Text != "Hello, www" || r.Metadata().Owner() != "Greeting" {
		t.Errorf("got %v, %v, want Hello, www of Greeting", r, err)
	}

	if err := a.Update(ctx, host); state.ClassOf(err) != state.AccessDenied {
		t.Errorf("update of an input: got %v, want it denied", err)
	}
}

// recording is a test whose failures are recorded.
type recording struct {
	testing.TB

	message string
}

func (*recording) Helper()           {}
func (*recording) Output() io.Writer { return io.Discard }

func (r *recording) Fatal(args ...any)                 { r.stop(fmt.Sprint(args...)) }
func (r *recording) Fatalf(format string, args ...any) { r.stop(fmt.Sprintf(format, args...)) }

type stopped struct{}

func (r *recording) stop(message string) {
	r.message = message

	panic(stopped{})
}

// TestMessages: the message of a failed wait has the current resource and the failing controllers.
func TestMessages(t *testing.T) {
	restless := &controller.Reconciler{
		ControllerName: "Restless", Writes: []controller.Output{controller.Out[greetingSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			time.Sleep(time.Second)
			rt.QueueReconcile()

			return typed.Set(ctx, rt, "", "now", greetingSpec{time.Now().String()})
		},
	}

	for name, tt := range map[string]struct {
		c    cositest.Named
		try  func(e *cositest.Environment)
		want []string
	}{
		"wait": {controllers()["controller"], func(e *cositest.Environment) {
			cositest.Set(e, "web", hostSpec{})
			cositest.Wait[greetingSpec](e, "web", nil)
		}, []string{"Greetings.example.org(default/web)", "does not exist", "Greeting fails: ", "a host without a name"}},
		"wait for another value": {controllers()["controller"], func(e *cositest.Environment) {
			cositest.Set(e, "web", hostSpec{"www"})
			cositest.Wait(e, "web", func(g greetingSpec) bool { return g.Text == "Goodbye" })
		}, []string{"text: Hello, www"}},
		"gone": {controllers()["controller"], func(e *cositest.Environment) {
			cositest.Set(e, "web", hostSpec{"www"})
			cositest.WaitGone[hostSpec](e, "web")
		}, []string{"name: www"}},
		"quiet":            {restless, func(e *cositest.Environment) { e.Quiet(5 * time.Second) }, []string{"resources still change", "default/now) changed from version"}},
		"version":          {restless, func(e *cositest.Environment) { cositest.Version[hostSpec](e, "none") }, []string{"does not exist"}},
		"no controller":    {restless, func(e *cositest.Environment) { e.Register(unknown{}) }, []string{"is not a controller"}},
		"registered twice": {restless, func(e *cositest.Environment) { e.Register(restless) }, []string{"the name is taken"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &recording{TB: t}
				e := cositest.Start(rec, tt.c)

				func() {
					defer func() {
						if p := recover(); p != nil && p != (stopped{}) {
							panic(p)
						}
					}()

					tt.try(e)
				}()

				for _, want := range tt.want {
					if !strings.Contains(rec.message, want) {
						t.Errorf("message: got %q, want it to contain %q", rec.message, want)
					}
				}
			})
		})
	}
}

type unknown struct{}

func (unknown) Name() string { return "Unknown" }
