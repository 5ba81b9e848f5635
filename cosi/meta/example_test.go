// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

var bookDefinition = &resource.Definition{
	Type: "Books.example.org", DefaultNamespace: "default",
	PrintColumns: []resource.PrintColumn{{Name: "Title", JSONPath: "{.title}"}},
}

// Clients find a described type by its short name, with the columns to print.
func ExampleRegisterDefinition() {
	ctx, st := context.Background(), memory.New()

	if err := meta.RegisterDefinition(ctx, st, bookDefinition); err != nil {
		panic(err)
	}

	definitions, err := typed.List[meta.ResourceDefinitionSpec](ctx, st, meta.NamespaceName)
	if err != nil {
		panic(err)
	}

	for _, d := range definitions {
		fmt.Println(d.Metadata().ID(), d.TypedSpec().Aliases)
	}
	// Output: books.example.org [book]
}
