// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"bytes"
	"context"
	"log/slog"
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

// bench is a running runtime in a bubble of fake time.
type bench struct {
	*testing.T
	st  state.State
	rt  *runtime.Runtime
	log *bytes.Buffer
}

// inBubble runs fn with a runtime that runs the controllers.
func inBubble(t *testing.T, fn func(b *bench), controllers ...controller.Controller) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, st: memory.New(), log: &bytes.Buffer{}}
		b.rt = runtime.New(b.st, slog.New(slog.NewTextHandler(b.log, nil)))
		b.rt.ShowFailures()

		for _, c := range controllers {
			if err := b.rt.RegisterController(c); err != nil {
				t.Fatal(err)
			}
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)

		go func() { done <- b.rt.Run(ctx) }()

		synctest.Wait()
		fn(b)
		cancel()

		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (b *bench) setInt(id string, value int) {
	b.Helper()

	if err := typed.Set(b.Context(), b.st, "", id, intSpec{value}); err != nil {
		b.Fatal(err)
	}
}

// settle waits until nothing moves any more without time passing.
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
