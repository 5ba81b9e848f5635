// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

type intSpec struct {
	Value int `yaml:"value" protobuf:"1"`
}

type strSpec struct {
	Value string `yaml:"value" protobuf:"1"`
}

type sentenceSpec struct {
	Value string `yaml:"value" protobuf:"1"`
}

var (
	intDefinition      = &resource.Definition{Type: "Ints.test.cosi.dev", DefaultNamespace: "ints"}
	strDefinition      = &resource.Definition{Type: "Strs.test.cosi.dev", DefaultNamespace: "strs"}
	sentenceDefinition = &resource.Definition{Type: "Sentences.test.cosi.dev", DefaultNamespace: "sentences"}
)

func (intSpec) Definition() *resource.Definition      { return intDefinition }
func (strSpec) Definition() *resource.Definition      { return strDefinition }
func (sentenceSpec) Definition() *resource.Definition { return sentenceDefinition }

// bench is a runtime in a bubble of fake time.
type bench struct {
	*testing.T
	st  state.State
	rt  *runtime.Runtime
	log *bytes.Buffer
}

// inBubble runs fn with a runtime that runs the controllers.
func inBubble(t *testing.T, fn func(b *bench), controllers ...controller.Controller) {
	t.Helper()
	inBubbleOf(t, memory.New(), func(b *bench) {
		b.begin()
		fn(b)
	}, controllers...)
}

// inBubbleOf is inBubble with a given state; fn starts the run.
func inBubbleOf(t *testing.T, st state.State, fn func(b *bench), controllers ...controller.Controller) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, st: st, log: &bytes.Buffer{}}
		b.rt = runtime.New(b.st, slog.New(slog.NewTextHandler(b.log, nil)))
		b.rt.ShowFailures()

		for _, c := range controllers {
			if err := b.rt.RegisterController(c); err != nil {
				t.Fatal(err)
			}
		}

		fn(b)
	})
}

// begin runs the controllers until the test ends.
func (b *bench) begin() {
	b.Helper()

	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)

	go func() { done <- b.rt.Run(ctx) }()

	b.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			b.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
}

// failing is a state that can be set to fail, and whose watches can be broken. It cannot notify.
type failing struct {
	state.State
	down, unlisted, unwatched atomic.Bool // all calls fail; List fails; watches fail

	mu      sync.Mutex
	watches []func()
}

// errDown is what a remote state returns.
var errDown = state.NewError(state.Unavailable, "watch", resource.Pointer{}, "the server does not answer")

func (f *failing) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	if f.down.Load() || f.unlisted.Load() {
		return nil, errDown
	}

	return f.State.List(ctx, kind, opts...)
}

func (f *failing) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	if f.down.Load() {
		return nil, errDown
	}

	return f.State.Modify(ctx, empty, fn, opts...)
}

func (f *failing) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	if f.down.Load() || f.unwatched.Load() {
		return errDown
	}

	inner, cancel := context.WithCancel(ctx)
	if err := f.State.WatchKindAggregated(inner, kind, ch, opts...); err != nil {
		cancel()

		return err
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	f.watches = append(f.watches, func() {
		if ctx.Err() != nil {
			return
		}

		cancel()

		select {
		case <-ctx.Done():
		case ch <- []state.Event{{Type: state.Errored, Error: errDown}}:
		}
	})

	return nil
}

// breakAll ends all watches with an error.
func (f *failing) breakAll() {
	f.mu.Lock()
	defer f.mu.Unlock()

	for _, cut := range f.watches {
		cut()
	}

	f.watches = nil
}

func (b *bench) setInt(id string, value int) {
	b.Helper()

	if err := typed.Set(b.Context(), b.st, "", id, intSpec{value}); err != nil {
		b.Fatal(err)
	}
}

// settle waits until all goroutines are blocked.
func (b *bench) settle() { synctest.Wait() }

func (b *bench) wantStr(id, want string) {
	b.Helper()

	got, err := typed.Get[strSpec](b.Context(), b.st, "", id)
	if err != nil {
		b.Fatalf("%v\nlog:\n%s", err, b.log)
	}

	if got.TypedSpec().Value != want {
		b.Errorf("str %s: got %q, want %q", id, got.TypedSpec().Value, want)
	}
}

func (b *bench) wantGone(ptr resource.Pointer) {
	b.Helper()

	if r, err := b.st.Get(b.Context(), ptr); !state.IsNotFound(err) {
		b.Errorf("%s: got %v, %v, want not found", ptr, r, err)
	}
}

func (b *bench) ok(err error) {
	b.Helper()

	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) metrics(name string) runtime.Metrics {
	b.Helper()

	for _, m := range b.rt.Metrics() {
		if m.Controller == name {
			return m
		}
	}

	b.Fatalf("no metrics of %q", name)

	return runtime.Metrics{}
}
