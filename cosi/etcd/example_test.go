// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"fmt"
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

// A lock that one process at a time holds. Another process that waits for it is told who holds it. What the holder writes with
// the lock's context is refused when it has lost the lock.
func ExampleAcquire() {
	ctx := context.Background()

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
	orPanic(err)

	defer client.Close()

	st, err := etcd.Open(ctx, client, etcd.WithPrefix("/library"))
	orPanic(err)

	defer st.Close()

	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	lock, err := etcd.Acquire(short, client, "/library-locks/inventory", etcd.WithHolder("node-1"))
	if err != nil {
		fmt.Println(err) // lock /library-locks/inventory: node-2 holds it: context deadline exceeded

		return
	}

	defer lock.Release(ctx)

	ctx, end := lock.Context(ctx) // ends when the lock is lost
	defer end()

	orPanic(typed.Set(ctx, st, "", "book", BookSpec{Title: "Persuasion"}))
}

// An election: of all processes that call Lead with the key, one runs the function. The resource tells the others which one.
func ExampleLead() {
	ctx := context.Background()

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
	orPanic(err)

	defer client.Close()

	lead := func(ctx context.Context) error {
		<-ctx.Done() // for example the Run of a runtime

		return context.Cause(ctx)
	}

	for ctx.Err() == nil {
		err := etcd.Lead(ctx, client, "/library-leader", lead, etcd.WithHolder("node-1"),
			etcd.ShownAs("/library", func(time.Time) resource.Resource {
				r := resource.New[BookSpec]("", "written-by")
				r.TypedSpec().Title = "node-1"

				return r
			}))

		fmt.Println("not leading any more:", err)
	}
}
