// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/mutation"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) state.State { return mutation.Detect(t, memory.New()) })
}

// failures is a test that records its failures.
type failures struct{ texts []string }

func (*failures) Helper() {}

func (*failures) Cleanup(func()) {}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

type wildSpec struct {
	Name  string
	Tags  []string
	Map   map[string]string
	Inner *innerSpec
	Free  map[string]any
	At    time.Time
}

type innerSpec struct{ Numbers []int }

var wildDefinition = &resource.Definition{Type: "Wilds.test.cosi.dev", DefaultNamespace: "n"}

func (wildSpec) Definition() *resource.Definition { return wildDefinition }

func ok(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

func wild() wildSpec {
	return wildSpec{
		Name: "a", Tags: []string{"a", "b"}, Map: map[string]string{"k": "v"}, Inner: &innerSpec{Numbers: []int{1, 2}},
		Free: map[string]any{"list": []any{"x"}}, At: time.Unix(1, 2),
	}
}

// TestWritersAreNamed reads in each way and writes into each kind of field.
func TestWritersAreNamed(t *testing.T) {
	ptr, kind := resource.PointerOf[wildSpec]("", "x"), resource.KindOf[wildSpec]("")

	reads := map[string]func(ctx context.Context, st state.State) resource.Resource{
		"get": func(ctx context.Context, st state.State) resource.Resource {
			r, err := st.Get(ctx, ptr)
			ok(t, err)

			return r
		},
		"typed get": func(ctx context.Context, st state.State) resource.Resource {
			r, err := typed.Get[wildSpec](ctx, st, "", "x")
			ok(t, err)

			return r
		},
		"list": func(ctx context.Context, st state.State) resource.Resource {
			items, err := st.List(ctx, kind)
			ok(t, err)

			return items[0]
		},
		"modify": func(ctx context.Context, st state.State) resource.Resource {
			r, err := st.Modify(ctx, resource.New[wildSpec]("", "x"), func(resource.Resource) error { return nil })
			ok(t, err)

			return r
		},
		"watch": func(ctx context.Context, st state.State) resource.Resource {
			ch := make(chan state.Event)
			ok(t, st.Watch(ctx, ptr, ch))

			return (<-ch).Resource
		},
		"watch kind": func(ctx context.Context, st state.State) resource.Resource {
			ch := make(chan state.Event)
			ok(t, st.WatchKind(ctx, kind, ch, state.WithBootstrapContents()))

			return (<-ch).Resource
		},
		"watch aggregated": func(ctx context.Context, st state.State) resource.Resource {
			ch := make(chan []state.Event)
			ok(t, st.WatchKindAggregated(ctx, kind, ch, state.WithBootstrapContents()))

			return (<-ch)[0].Resource
		},
		"watch for": func(ctx context.Context, st state.State) resource.Resource {
			r, err := st.WatchFor(ctx, ptr, state.EventTypeIs(state.Created))
			ok(t, err)

			return r
		},
	}

	writes := map[string]func(s *wildSpec){
		`spec.Name was "a", is "mine"`:                  func(s *wildSpec) { s.Name = "mine" },
		`spec.Tags[1] was "b", is "mine"`:               func(s *wildSpec) { s.Tags[1] = "mine" },
		`spec.Tags was []string{"a", "b"}, is`:          func(s *wildSpec) { s.Tags = append(s.Tags, "c") },
		`spec.Map[k] was "v", is missing`:               func(s *wildSpec) { delete(s.Map, "k") },
		`spec.Map[new] was missing, is "v"`:             func(s *wildSpec) { s.Map["new"] = "v" },
		`spec.Inner.Numbers[0] was 1, is 7`:             func(s *wildSpec) { s.Inner.Numbers[0] = 7 },
		`spec.Free[list][0] was "x", is "y"`:            func(s *wildSpec) { s.Free["list"].([]any)[0] = "y" },
		`spec.At was`:                                   func(s *wildSpec) { s.At = s.At.Add(1) },
		`spec.Inner was &mutation_test.innerSpec`:       func(s *wildSpec) { s.Inner = nil },
		`spec.Tags was []string{"a", "b"}, is []string`: func(s *wildSpec) { s.Tags = nil },
	}

	for how, read := range reads {
		for want, write := range writes {
			f := &failures{}
			st := mutation.Detect(f, memory.New())
			ctx, cancel := context.WithCancel(t.Context())

			ok(t, typed.Set(ctx, st, "", "x", wild()))
			st.Check()

			r := read(ctx, st)
			write(r.(*resource.Typed[wildSpec]).TypedSpec())
			st.Check()
			st.Check()
			cancel()

			if len(f.texts) != 1 || !strings.Contains(f.texts[0], want) || !strings.Contains(f.texts[0], "Wilds.test.cosi.dev(n/x@1)") ||
				!strings.Contains(f.texts[0], "mutation_test.TestWritersAreNamed") {
				t.Errorf("%s: got %q, want %q", how, f.texts, want)
			}
		}
	}
}

// writer is a controller that writes into its input.
type writer struct{ done chan struct{} }

func (*writer) Name() string { return "Writer" }

func (*writer) Inputs() []controller.Input {
	return []controller.Input{controller.In[wildSpec](controller.Weak, "")}
}

func (*writer) Outputs() []controller.Output { return nil }

func (w *writer) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		}

		items, err := typed.List[wildSpec](ctx, rt, "")
		if err != nil {
			return err
		}

		for _, item := range items {
			item.TypedSpec().Tags[0] = "mine"

			close(w.done)
		}
	}
}

// TestControllerIsNamed runs a controller that writes into its input.
func TestControllerIsNamed(t *testing.T) {
	f := &failures{}
	st := mutation.Detect(f, memory.New())
	w := &writer{done: make(chan struct{})}
	rt := runtime.New(st, slog.New(slog.DiscardHandler))
	ok(t, rt.RegisterController(w))

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	go func() { ended <- rt.Run(ctx) }()

	ok(t, typed.Set(ctx, st, "", "x", wild()))
	<-w.done
	cancel()
	ok(t, <-ended)
	st.Check()

	if len(f.texts) != 1 || !strings.Contains(f.texts[0], "mutation_test.(*writer).Run (detect_test.go:") {
		t.Errorf("got %q, want the controller", f.texts)
	}
}
