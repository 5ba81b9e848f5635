// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
)

func named(name string, inputs []controller.Input, outputs ...controller.Output) *controller.Reconciler {
	return &controller.Reconciler{
		ControllerName: name, Reads: inputs, Writes: outputs,
		Reconcile: func(context.Context, controller.Runtime, *slog.Logger) error { return nil },
	}
}

func TestRegistration(t *testing.T) {
	in := controller.In[intSpec]
	out := controller.Out[strSpec]

	for _, tt := range []struct {
		name        string
		controllers []controller.Controller
		want        string // in the last error; empty for success
	}{
		{"two shared", []controller.Controller{named("a", nil, out(controller.Shared)), named("b", nil, out(controller.Shared))}, ""},
		{"same name", []controller.Controller{named("a", nil), named("a", nil)}, "name is taken"},
		{"two exclusive", []controller.Controller{named("a", nil, out(controller.Exclusive)), named("b", nil, out(controller.Exclusive))}, `already an output of "a"`},
		{"exclusive after shared", []controller.Controller{named("a", nil, out(controller.Shared)), named("b", nil, out(controller.Exclusive))}, `already an output of "a"`},
		{"shared after exclusive", []controller.Controller{named("a", nil, out(controller.Exclusive)), named("b", nil, out(controller.Shared))}, `already an output of "a"`},
		{"output twice", []controller.Controller{named("a", nil, out(controller.Shared), out(controller.Shared))}, "declared twice"},
		{"input twice", []controller.Controller{named("a", []controller.Input{in(controller.Weak, ""), in(controller.Strong, "")})}, "declared twice"},
		{"input whole and by id", []controller.Controller{named("a", []controller.Input{in(controller.Weak, ""), in(controller.Strong, "", "x")})}, ""},
		{"queue input", []controller.Controller{named("a", []controller.Input{in(controller.Primary, "")})}, "queue controllers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rt := runtime.New(memory.New(), slog.New(slog.DiscardHandler))

			var err error
			for _, c := range tt.controllers {
				if err != nil {
					t.Fatal(err)
				}

				err = rt.RegisterController(c)
			}

			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAccess(t *testing.T) {
	ctx := t.Context()

	r := func(ns string) *resource.Typed[intSpec] { return resource.New[intSpec](ns, "x") }
	s := func(ns string) *resource.Typed[strSpec] { return resource.New[strSpec](ns, "x") }
	nop := func(resource.Resource) error { return nil }
	intAt := func(ns, id string) resource.Pointer { return resource.PointerOf[intSpec](ns, id) }

	for _, tt := range []struct {
		name    string
		try     func(rt controller.Runtime) error
		allowed bool
	}{
		{"get of an input", func(rt controller.Runtime) error { _, err := rt.Get(ctx, intAt("weak", "x")); return err }, true},
		{"get of an input by id", func(rt controller.Runtime) error { _, err := rt.Get(ctx, intAt("strong", "x")); return err }, true},
		{"get of another id", func(rt controller.Runtime) error { _, err := rt.Get(ctx, intAt("strong", "y")); return err }, false},
		{"get in another namespace", func(rt controller.Runtime) error { _, err := rt.Get(ctx, intAt("other", "x")); return err }, false},
		{"get of an output", func(rt controller.Runtime) error { _, err := rt.Get(ctx, s("any").Metadata().Pointer()); return err }, true},
		{"list of an input", func(rt controller.Runtime) error { _, err := rt.List(ctx, intAt("weak", "").Kind()); return err }, true},
		{"list of an input by id", func(rt controller.Runtime) error { _, err := rt.List(ctx, intAt("strong", "").Kind()); return err }, false},
		{"list of an output", func(rt controller.Runtime) error { _, err := rt.List(ctx, s("any").Metadata().Kind()); return err }, true},
		{"create of an input", func(rt controller.Runtime) error { return rt.Create(ctx, r("weak")) }, false},
		{"create of an output elsewhere", func(rt controller.Runtime) error { return rt.Create(ctx, resource.New[sentenceSpec]("n", "x")) }, false},
		{"create of an output there", func(rt controller.Runtime) error { return rt.Create(ctx, resource.New[sentenceSpec]("", "x")) }, true},
		{"create of an output", func(rt controller.Runtime) error { return rt.Create(ctx, s("n")) }, true},
		{"update of an input", func(rt controller.Runtime) error { return rt.Update(ctx, r("weak")) }, false},
		{"modify of an input", func(rt controller.Runtime) error { _, err := rt.Modify(ctx, r("weak"), nop); return err }, false},
		{"modify of an output", func(rt controller.Runtime) error { _, err := rt.Modify(ctx, s("n"), nop); return err }, true},
		{"teardown of an input", func(rt controller.Runtime) error { _, err := rt.Teardown(ctx, intAt("weak", "x")); return err }, false},
		{"destroy of an input", func(rt controller.Runtime) error { return rt.Destroy(ctx, intAt("weak", "x")) }, false},
		{"destroy of an output", func(rt controller.Runtime) error { return rt.Destroy(ctx, s("n").Metadata().Pointer()) }, true},
		{"finalizer on a weak input", func(rt controller.Runtime) error { return rt.AddFinalizer(ctx, intAt("weak", "x"), "f") }, false},
		{"finalizer on a strong input", func(rt controller.Runtime) error { return rt.AddFinalizer(ctx, intAt("strong", "x"), "f") }, true},
		{"finalizer on another id", func(rt controller.Runtime) error { return rt.AddFinalizer(ctx, intAt("strong", "y"), "f") }, false},
		{"removal of a finalizer of nothing", func(rt controller.Runtime) error { return rt.RemoveFinalizer(ctx, intAt("strong", "x"), "f") }, true},
		{"removal from a weak input", func(rt controller.Runtime) error { return rt.RemoveFinalizer(ctx, intAt("weak", "x"), "f") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got error

			c := named("a", []controller.Input{
				controller.In[intSpec](controller.Weak, "weak"), controller.In[intSpec](controller.Strong, "strong", "x"),
			}, controller.Out[strSpec](controller.Exclusive), controller.Out[sentenceSpec](controller.Exclusive, "sentences"))
			c.Reconcile = func(_ context.Context, rt controller.Runtime, _ *slog.Logger) error {
				got = tt.try(rt)

				return nil
			}

			inBubble(t, func(b *bench) { b.settle() }, c)

			if denied := state.ClassOf(got) == state.AccessDenied; denied == tt.allowed {
				t.Errorf("got %v, want allowed=%t", got, tt.allowed)
			}
		})
	}
}

func TestUpdateInputs(t *testing.T) {
	runs := 0

	c := named("a", nil)
	c.Reconcile = func(_ context.Context, rt controller.Runtime, _ *slog.Logger) error {
		if runs++; runs > 1 {
			return nil
		}

		return rt.UpdateInputs([]controller.Input{
			controller.In[intSpec](controller.DestroyReady, "ready"),
			controller.In[intSpec](controller.Weak, "", "mine"),
		})
	}

	inBubble(t, func(b *bench) {
		expect := func(what string, want int) {
			b.Helper()
			b.settle()

			if runs != want {
				b.Errorf("%s: got %d runs, want %d", what, runs, want)
			}
		}

		expect("start", 1)
		b.setInt("other", 1)
		expect("another id", 1)
		b.setInt("mine", 1)
		expect("the id", 2)

		r := resource.New[intSpec]("ready", "x")
		b.ok(b.st.Create(b.Context(), r))
		b.ok(b.st.AddFinalizer(b.Context(), r.Metadata().Pointer(), "f"))
		_, err := b.st.Teardown(b.Context(), r.Metadata().Pointer())
		b.ok(err)
		expect("not yet ready", 2)
		b.ok(b.st.RemoveFinalizer(b.Context(), r.Metadata().Pointer(), "f"))
		expect("ready", 3)
	}, c)
}

// TestGraphNamespaces: a controller that copies a type from one namespace to another is not a cycle.
func TestGraphNamespaces(t *testing.T) {
	rt := runtime.New(memory.New(), slog.New(slog.DiscardHandler))

	for _, c := range []controller.Controller{
		named("merge", []controller.Input{controller.In[intSpec](controller.Weak, "layers")}, controller.Out[intSpec](controller.Exclusive, "ints")),
		named("layer", nil, controller.Out[intSpec](controller.Exclusive, "layers")),
		named("follow", []controller.Input{controller.In[intSpec](controller.Weak, "ints")}, controller.Out[strSpec](controller.Exclusive)),
	} {
		if err := rt.RegisterController(c); err != nil {
			t.Fatal(err)
		}
	}

	if err := rt.RegisterController(named("any", nil, controller.Out[intSpec](controller.Exclusive))); err == nil {
		t.Error("an output in all namespaces was registered in addition to exclusive ones")
	}

	var dot strings.Builder
	if err := runtime.WriteGraphviz(&dot, rt.Graph()); err != nil {
		t.Fatal(err)
	}

	for line, want := range map[string]bool{
		`"layer" -> "Ints.test.cosi.dev layers"`: true,
		`"Ints.test.cosi.dev layers" -> "merge"`: true,
		`"merge" -> "Ints.test.cosi.dev ints"`:   true,
		`"Ints.test.cosi.dev ints" -> "follow"`:  true,
		`"merge" -> "Ints.test.cosi.dev layers"`: false,
		`"Ints.test.cosi.dev"`:                   false,
		`"follow" -> "Strs.test.cosi.dev"`:       true,
	} {
		if strings.Contains(dot.String(), line) != want {
			t.Errorf("graph has %s: got %t, want %t\n%s", line, !want, want, dot.String())
		}
	}
}

func TestGraph(t *testing.T) {
	rt := runtime.New(memory.New(), slog.New(slog.DiscardHandler))

	for _, c := range []controller.Controller{
		named("b", []controller.Input{controller.In[intSpec](controller.Strong, ""), controller.In[strSpec](controller.Weak, "", "x")}, controller.Out[sentenceSpec](controller.Exclusive)),
		named("a", []controller.Input{controller.In[intSpec](controller.DestroyReady, "")}, controller.Out[strSpec](controller.Shared)),
	} {
		if err := rt.RegisterController(c); err != nil {
			t.Fatal(err)
		}
	}

	want := []runtime.Edge{
		{Controller: "b", Type: sentenceDefinition.Type, Kind: runtime.OutputExclusive},
		{Controller: "a", Type: strDefinition.Type, Kind: runtime.OutputShared},
		{Controller: "a", Namespace: "ints", Type: intDefinition.Type, Kind: runtime.InputDestroyReady},
		{Controller: "b", Namespace: "ints", Type: intDefinition.Type, Kind: runtime.InputStrong},
		{Controller: "b", Namespace: "strs", Type: strDefinition.Type, ID: "x", Kind: runtime.InputWeak},
	}

	if diff := cmp.Diff(want, rt.Graph()); diff != "" {
		t.Errorf("graph (-want +got):\n%s", diff)
	}

	var dot strings.Builder
	if err := runtime.WriteGraphviz(&dot, rt.Graph()); err != nil {
		t.Fatal(err)
	}

	for _, line := range []string{
		`"b" -> "Sentences.test.cosi.dev" [style=solid]`,
		`"Strs.test.cosi.dev strs/x" -> "b" [style=dashed]`,
		`"a" [shape=box]`,
	} {
		if !strings.Contains(dot.String(), line) {
			t.Errorf("graph has no line %s:\n%s", line, dot.String())
		}
	}
}
