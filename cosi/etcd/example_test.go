// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/etcd"
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

// A store that processes on many machines share. (It needs an etcd, so the example is compiled but not run; the tests of
// this package do the same with a real etcd.)
func ExampleOpen() {
	ctx := context.Background()

	orPanic(resource.Register[BookSpec]())

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}, DialTimeout: 5 * time.Second})
	orPanic(err)

	defer client.Close()

	st, err := etcd.Open(ctx, client, etcd.WithPrefix("/library"))
	orPanic(err)

	defer st.Close()

	orPanic(typed.Set(ctx, st, "", "book", BookSpec{Title: "Emma"}))
}
