// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/resource"
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

// A store in an encrypted file. Types are registered before the store is opened, so that its contents are decoded.
func ExampleOpen() {
	ctx := context.Background()

	orPanic(resource.Register[BookSpec]())

	dir, err := os.MkdirTemp("", "example")
	orPanic(err)

	defer os.RemoveAll(dir)

	key := sha256.Sum256([]byte("a secret of more than a few words"))

	for range 2 { // as two starts of a program
		st, err := bolt.Open(filepath.Join(dir, "books.db"), bolt.WithKey(key[:]))
		orPanic(err)

		book, err := typed.Find[BookSpec](ctx, st, "", "book")
		orPanic(err)

		if book != nil {
			fmt.Println(book.Metadata(), book.TypedSpec().Title)
		}

		orPanic(typed.Set(ctx, st, "", "book", BookSpec{Title: "Emma"}))
		orPanic(st.Close())
	}
	// Output: Books.example.org(default/book@1) Emma
}
