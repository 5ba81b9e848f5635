// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// BookSpec is the spec in the examples.
type BookSpec struct {
	Title string `yaml:"title" protobuf:"1"`
}

var bookDefinition = &resource.Definition{Type: "Books.example.org", DefaultNamespace: "default"}

// Definition implements resource.Spec.
func (BookSpec) Definition() *resource.Definition { return bookDefinition }

func orPanic(err error) {
	if err != nil {
		panic(err)
	}
}

// A store that keeps the last 100 events of each kind for late watches.
func ExampleNew() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	st := memory.New(memory.WithHistory(100))

	for _, title := range []string{"Emma", "Persuasion"} {
		orPanic(typed.Set(ctx, st, "", "book", BookSpec{Title: title}))
	}

	events := make(chan typed.Event[BookSpec], 10)
	orPanic(typed.WatchKind(ctx, st, "", events, state.WithKindTailEvents(2)))

	for range 2 {
		ev := <-events
		fmt.Println(ev.Type, ev.Resource.TypedSpec().Title)
	}
	// Output:
	// created Emma
	// updated Persuasion
}
