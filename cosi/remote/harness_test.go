// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
)

// link is a server that can be stopped and started again, and a connection to it.
type link struct {
	*testing.T

	conn *grpc.ClientConn

	mu       sync.Mutex
	listener *bufconn.Listener
	server   *grpc.Server
}

func newLink(t *testing.T, srv v1alpha1.StateServer) *link {
	t.Helper()

	l := &link{T: t}
	l.up(srv)

	conn, err := grpc.NewClient("passthrough:state",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			l.mu.Lock()
			listener := l.listener
			l.mu.Unlock()

			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}

	l.conn = conn

	t.Cleanup(func() {
		conn.Close()
		l.down()
	})

	return l
}

func serve(t *testing.T, st state.State) *link {
	t.Helper()

	return newLink(t, server.New(st))
}

func (l *link) up(srv v1alpha1.StateServer) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.listener = bufconn.Listen(1 << 20)
	l.server = grpc.NewServer()
	v1alpha1.RegisterStateServer(l.server, srv)

	go l.server.Serve(l.listener)
}

func (l *link) down() {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.server.Stop()
}
