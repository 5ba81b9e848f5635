// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
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

// A resource is a struct with metadata: an identity, a version and so on.
func ExampleNew() {
	book := resource.New[BookSpec]("", "emma")
	book.TypedSpec().Title = "Emma"
	book.Metadata().SetLabel("language", "en")

	fmt.Println(book, book.Metadata().VersionString(), book.Metadata().Phase())

	query := resource.LabelQuery{Terms: []resource.LabelTerm{resource.LabelIs("language", "en")}}
	fmt.Println(query.Matches(book.Metadata().Labels()))
	// Output:
	// Books.example.org(default/emma) undefined running
	// true
}

// Resources of a registered type are decoded everywhere: from a file, from etcd, from the wire.
func ExampleRegister() {
	orPanic(resource.Register[BookSpec]())

	r, known := resource.NewOfType("Books.example.org", "default", "emma")
	fmt.Printf("%v %t %T\n", r, known, r.Spec())
	// Output: Books.example.org(default/emma) true *resource_test.BookSpec
}
