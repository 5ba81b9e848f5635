// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
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

// Errors are matched by their class.
func Example_errors() {
	ctx, st := context.Background(), memory.New()
	ptr := resource.PointerOf[BookSpec]("", "emma")

	_, err := st.Get(ctx, ptr)
	fmt.Println(state.IsNotFound(err))

	book := resource.New[BookSpec]("", "emma")
	orPanic(st.Create(ctx, book, state.WithOwner("Library")))

	err = st.Create(ctx, resource.New[BookSpec]("", "emma"))
	fmt.Println(state.IsConflict(err), state.ClassOf(err) == state.AlreadyExists)

	err = st.Destroy(ctx, ptr)
	fmt.Println(state.IsOwnerConflict(err), err)
	// Output:
	// true
	// true true
	// true destroy Books.example.org(default/emma): owner is "Library", not ""
}

// A wait for a condition of a resource.
func ExampleResourceIs() {
	ctx, st := context.Background(), memory.New()
	book := resource.New[BookSpec]("", "emma")

	go func() {
		orPanic(st.Create(ctx, book))
		orPanic(st.AddFinalizer(ctx, book.Metadata().Pointer(), "reader"))
	}()

	r, err := st.WatchFor(ctx, resource.PointerOf[BookSpec]("", "emma"), state.ResourceIs(func(r resource.Resource) bool {
		return r.Metadata().HasFinalizer("reader")
	}))
	fmt.Println(r.Metadata(), err)
	// Output: Books.example.org(default/emma@2) <nil>
}
