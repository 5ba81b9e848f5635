// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
)

// countingConn counts the writes of one end of a connection.
type countingConn struct {
	net.Conn

	writes *atomic.Int32
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)

	return c.Conn.Write(b)
}

// watched calls fn with a state, a watch of its items over gRPC, and the number of writes of the client so far.
func watched(t *testing.T, fn func(mem state.State, ch <-chan state.Event, writes *atomic.Int32)) {
	t.Helper()
	ok(t, resource.Register[conformance.ItemSpec]())

	synctest.Test(t, func(t *testing.T) {
		var writes atomic.Int32

		ctx, cancel := context.WithCancel(t.Context())
		mem := memory.New()
		listener := bufconn.Listen(1 << 20)
		g := grpc.NewServer(server.Options()...)
		v1alpha1.RegisterStateServer(g, server.New(mem))

		go g.Serve(listener)

		conn, err := remote.Dial("passthrough:state", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				c, err := listener.DialContext(ctx)

				return countingConn{c, &writes}, err
			}))
		ok(t, err)

		ch := make(chan state.Event)
		ok(t, remote.New(conn).WatchKind(ctx, item("", "").Metadata().Kind(), ch))
		fn(mem, ch, &writes)

		cancel()
		conn.Close()
		g.Stop()
		listener.Close()
	})
}

// TestEventsAreNotAnswered: a client writes nothing when it receives an event, neither a ping nor a wider window.
func TestEventsAreNotAnswered(t *testing.T) {
	watched(t, func(mem state.State, ch <-chan state.Event, writes *atomic.Int32) {
		synctest.Wait()

		before := writes.Load()

		for n := range 50 {
			id := fmt.Sprint(n)
			set(t, mem, id, "1")
			want(t, ch, state.Created, id, 1)
			synctest.Wait()
		}

		if n := writes.Load() - before; n > 0 {
			t.Errorf("the client wrote %d times during 50 events, want 0", n)
		}
	})
}

// TestLargerThanTheWindow: a message that is larger than the window is received whole, and so are the next ones.
func TestLargerThanTheWindow(t *testing.T) {
	large := strings.Repeat("x", 5<<20)

	watched(t, func(mem state.State, ch <-chan state.Event, _ *atomic.Int32) {
		for n := range 3 {
			id := fmt.Sprint(n)
			set(t, mem, id, large)
			want(t, ch, state.Created, id, 1)
		}
	})
}
