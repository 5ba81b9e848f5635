// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Controllers that fail are resources, until they work.
func Example() {
	st := memory.New()
	rt := runtime.New(st, slog.New(slog.DiscardHandler), runtime.WithName("example"))
	rt.ShowFailures()

	err := rt.RegisterController(&controller.Reconciler{
		ControllerName: "SentenceController",
		Reads:          []controller.Input{controller.In[strSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[sentenceSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			word, err := typed.Find[strSpec](ctx, rt, "", "word")
			if err != nil {
				return err
			}

			if word == nil {
				return errors.New("there is no word yet")
			}

			return typed.Set(ctx, rt, "", "sentence", sentenceSpec{"I said " + word.TypedSpec().Value})
		},
	})
	if err != nil {
		panic(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	status, err := typed.WatchFor[meta.ControllerStatusSpec](ctx, st, meta.NamespaceName, "SentenceController", nil)
	if err != nil {
		panic(err)
	}

	fmt.Println(status.TypedSpec().Error)

	if err := typed.Set(ctx, st, "", "word", strSpec{"hello"}); err != nil {
		panic(err)
	}

	sentence, err := typed.WatchFor[sentenceSpec](ctx, st, "", "sentence", nil)
	if err != nil {
		panic(err)
	}

	fmt.Println(sentence.TypedSpec().Value)

	if _, err := st.WatchFor(ctx, meta.ControllerStatusOf("SentenceController"), state.EventTypeIs(state.Destroyed)); err != nil {
		panic(err)
	}

	cancel()
	fmt.Println(<-done)
	// Output:
	// there is no word yet
	// I said hello
	// <nil>
}

// The inputs and outputs of controllers, as a picture for dot.
func ExampleWriteGraphviz() {
	rt := runtime.New(memory.New(), slog.New(slog.DiscardHandler))

	if err := rt.RegisterController(&controller.Reconciler{
		ControllerName: "SentenceController",
		Reads:          []controller.Input{controller.In[strSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[sentenceSpec](controller.Exclusive, resource.KindOf[sentenceSpec]("").Namespace)},
		Reconcile:      func(context.Context, controller.Runtime, *slog.Logger) error { return nil },
	}); err != nil {
		panic(err)
	}

	if err := runtime.WriteGraphviz(os.Stdout, rt.Graph()); err != nil {
		panic(err)
	}
	// Output:
	// digraph {
	// 	rankdir=LR
	// 	"SentenceController" [shape=box]
	// 	"Sentences.test.cosi.dev sentences" [shape=note, style=filled, fillcolor=azure2]
	// 	"Strs.test.cosi.dev strs" [shape=note, style=filled, fillcolor=azure2]
	// 	"SentenceController" -> "Sentences.test.cosi.dev sentences" [style=solid]
	// 	"Strs.test.cosi.dev strs" -> "SentenceController" [style=dashed]
	// }
}
