// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// BookSpec is what the examples store.
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

// A resource is a struct with an identity, a version and what else its metadata has.
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

// A type that is registered is decoded wherever its name is met: in a file, in etcd, over the wire.
func ExampleRegister() {
	orPanic(resource.Register[BookSpec]())

	r, known := resource.NewOfType("Books.example.org", "default", "emma")
	fmt.Printf("%v %t %T\n", r, known, r.Spec())
	// Output: Books.example.org(default/emma) true *resource_test.BookSpec
}
