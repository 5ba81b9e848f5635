// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// sourceSpec is the input of the controllers below; mappedSpec and queuedSpec are their outputs. The program registers none.
type (
	sourceSpec struct {
		Text string `yaml:"text" protobuf:"1"`
	}
	mappedSpec struct {
		Text string `yaml:"text" protobuf:"1"`
	}
	queuedSpec struct {
		Text string `yaml:"text" protobuf:"1"`
	}
)

var (
	sourceDefinition = &resource.Definition{Type: "Sources.example.org", DefaultNamespace: "default"}
	mappedDefinition = &resource.Definition{Type: "Mappeds.example.org", DefaultNamespace: "default"}
	queuedDefinition = &resource.Definition{Type: "Queueds.example.org", DefaultNamespace: "default"}
)

func (sourceSpec) Definition() *resource.Definition { return sourceDefinition }
func (mappedSpec) Definition() *resource.Definition { return mappedDefinition }
func (queuedSpec) Definition() *resource.Definition { return queuedDefinition }

// labelled labels an output with the text of its input.
func labelled(in *resource.Typed[sourceSpec], md *resource.Metadata) {
	md.SetLabel("text", in.TypedSpec().Text)
}

// TestUndecodedOutputs starts a program twice with controllers whose outputs are not decoded when the file is opened: the
// second start updates the outputs of the first.
func TestUndecodedOutputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")

	for _, text := range []string{"first", "second"} {
		st := open(t, path)

		if text == "second" {
			for _, kind := range []resource.Kind{resource.KindOf[mappedSpec](""), resource.KindOf[queuedSpec]("")} {
				r, err := st.Get(t.Context(), kind.Pointer("a"))
				ok(t, err)

				if _, opaque := r.(*resource.Opaque); !opaque {
					t.Skipf("%s is a %T: an earlier run of this test (-count) has registered its type", r.Metadata(), r)
				}
			}
		}

		rt := runtime.New(st, slog.New(slog.DiscardHandler))
		ok(t, rt.RegisterController(transform.Map[sourceSpec, mappedSpec]{
			Name: "Mapped", Label: labelled,
			Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[sourceSpec], out *mappedSpec) error {
				out.Text = in.TypedSpec().Text

				return nil
			},
		}.Controller()))
		ok(t, rt.RegisterQueueController(transform.Queue[sourceSpec, queuedSpec]{
			Name: "Queued", Label: labelled,
			Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[sourceSpec], out *queuedSpec) error {
				out.Text = in.TypedSpec().Text

				return nil
			},
		}.Controller()))

		ok(t, typed.Set(t.Context(), st, "", "a", sourceSpec{Text: text}))

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)

		go func() { done <- rt.Run(ctx) }()

		became(t, st, resource.KindOf[mappedSpec](""), text)
		became(t, st, resource.KindOf[queuedSpec](""), text)

		cancel()
		ok(t, <-done)
		ok(t, st.Close())
	}
}

// became waits until the output "a" of a kind has the text, in its spec and its label.
func became(t *testing.T, st state.State, kind resource.Kind, text string) {
	t.Helper()

	got, want := "nothing", fmt.Sprintf("text: %s\nlabel: %s", text, text)

	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		r, err := st.Get(t.Context(), kind.Pointer("a"))
		if state.IsNotFound(err) {
			continue
		}

		ok(t, err)

		spec, err := resource.YAMLSpec(r)
		ok(t, err)

		label, _ := r.Metadata().Labels().Get("text")
		if got = fmt.Sprintf("%slabel: %s", spec, label); got == want {
			return
		}
	}

	t.Errorf("output of %s: got %q, want %q", kind.Type, got, want)
}
