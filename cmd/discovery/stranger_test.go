// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
)

// TestHostConnections: the connections of one host other than a proxy are limited.
func TestHostConnections(t *testing.T) {
	for _, proxy := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		o := parse(t, "-host-connections", "2")
		if proxy {
			err = o.check()
		}

		if err != nil {
			t.Fatal(err)
		}

		s := newSplit(l, o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})

		go func() {
			defer close(ended)
			s.run(ctx)
		}()

		// open reports whether a new connection stays: the service waits for what it is for.
		open := func() (net.Conn, bool) {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}

			t.Cleanup(func() { conn.Close() })

			conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))

			_, err = conn.Read(make([]byte, 1))

			return conn, errors.Is(err, os.ErrDeadlineExceeded)
		}

		first, ok1 := open()
		_, ok2 := open()
		_, ok3 := open()

		if !ok1 || !ok2 || ok3 != proxy {
			t.Errorf("proxy %t: connections stay: %t, %t, %t", proxy, ok1, ok2, ok3)
		}

		first.Close()

		for {
			if _, ok := open(); ok {
				break
			}

			if t.Context().Err() != nil {
				t.Fatal("a connection that was closed counts")
			}
		}

		cancel()
		<-ended
	}
}

// TestStreams: one connection cannot have any number of calls.
func TestStreams(t *testing.T) {
	s := start(t, "-snapshots-enabled=false", "-rate", "10000", "-burst", "10000")

	conn, err := grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	api := serverapi.NewClusterClient(conn)

	watch := func(ctx context.Context) error {
		w, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: "c"})
		if err == nil {
			_, err = w.Recv()
		}

		return err
	}

	for range maxStreams {
		if err := watch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()

	if err := watch(ctx); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("one too many: %v", err)
	}
}
