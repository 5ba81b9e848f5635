// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/server"
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

// Each client gets its own store by its identity: here by its metadata, in a program by its certificate.
func ExampleNewFor() {
	mem := memory.New()
	readOnly := access.New(mem, func(_ context.Context, a access.Attempt) error {
		if a.Verb.Writes() {
			return status.Error(codes.PermissionDenied, "readers do not write")
		}

		return nil
	})

	conn, stop := connect(server.NewFor(func(ctx context.Context) (state.State, error) {
		md, _ := metadata.FromIncomingContext(ctx)

		switch name := md.Get("name"); {
		case len(name) == 1 && name[0] == "writer":
			return mem, nil
		case len(name) == 1 && name[0] == "reader":
			return readOnly, nil
		default:
			return nil, status.Error(codes.Unauthenticated, "unknown client")
		}
	}))

	defer stop()

	st := remote.New(conn)

	for _, name := range []string{"writer", "reader", "stranger"} {
		ctx := metadata.AppendToOutgoingContext(context.Background(), "name", name)
		err := typed.Set(ctx, st, "", "by-"+name, BookSpec{Title: "Emma"})
		fmt.Println(name, status.Code(err))
	}
	// Output:
	// writer OK
	// reader PermissionDenied
	// stranger Unauthenticated
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
