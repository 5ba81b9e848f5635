// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/server"
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

// A store in another process is used like a store in this process.
func ExampleNew() {
	orPanic(resource.Register[BookSpec]()) // else it is read as an Opaque

	mem := memory.New()
	conn, stop := connect(server.New(mem))

	defer stop()

	ctx, st := context.Background(), remote.New(conn)

	orPanic(typed.Set(ctx, st, "", "book", BookSpec{Title: "Emma"}))

	book, err := typed.Get[BookSpec](ctx, mem, "", "book")
	fmt.Println(book.TypedSpec().Title, err)
	// Output: Emma <nil>
}

// connect serves a store and returns a connection to it. Between processes the listener is net.Listen's.
func connect(srv v1alpha1.StateServer) (conn *grpc.ClientConn, stop func()) {
	listener := bufconn.Listen(1 << 16)
	g := grpc.NewServer()
	v1alpha1.RegisterStateServer(g, srv)

	go g.Serve(listener)

	conn, err := grpc.NewClient("passthrough:state", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	orPanic(err)

	return conn, func() {
		conn.Close()
		g.Stop()
	}
}
