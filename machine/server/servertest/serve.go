// SPDX-License-Identifier: Apache-2.0

// Package servertest serves a gRPC server on a unix socket in tests.
package servertest

import (
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Serve runs a server on a unix socket until the test ends, and returns a connection to it.
func Serve(t testing.TB, g *grpc.Server, l net.Listener) *grpc.ClientConn {
	t.Helper()

	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}

	served := make(chan error, 1)

	go func() { served <- g.Serve(l) }()

	t.Cleanup(func() {
		conn.Close()
		g.Stop()

		// A test may end before the server has started.
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})

	return conn
}
