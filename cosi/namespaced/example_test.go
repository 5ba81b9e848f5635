// SPDX-License-Identifier: Apache-2.0

package namespaced_test

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/namespaced"
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

// One store from two: the namespace "archive" is in another store than the rest.
func ExampleNew() {
	ctx := context.Background()
	archive, rest := memory.New(), memory.New() // or bolt, or etcd

	st := namespaced.New(func(namespace string) state.State {
		if namespace == "archive" {
			return archive
		}

		return rest
	})

	orPanic(typed.Set(ctx, st, "archive", "old", BookSpec{Title: "Emma"}))
	orPanic(typed.Set(ctx, st, "", "new", BookSpec{Title: "Persuasion"}))

	book, err := typed.Get[BookSpec](ctx, archive, "archive", "old")
	fmt.Println(book, err)

	none, err := typed.Find[BookSpec](ctx, archive, "", "new")
	fmt.Println(none, err)
	// Output:
	// Books.example.org(archive/old) <nil>
	// <nil> <nil>
}
