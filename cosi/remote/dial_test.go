// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// path is a network path. When it is dead, its connections transport nothing, and neither side is notified.
type path struct {
	*bufconn.Listener

	dead         atomic.Bool
	made, served atomic.Int32

	mu   sync.Mutex
	left []net.Conn // closed at one end only
}

// lossy is one end of a connection.
type lossy struct {
	net.Conn

	first bool // only the first connection dies
	path  *path
}

func (c lossy) Write(b []byte) (int, error) {
	if c.first && c.path.dead.Load() {
		return len(b), nil
	}

	return c.Conn.Write(b)
}

// Close closes this end. The other end is notified only if the path is not dead.
func (c lossy) Close() error {
	if !c.first || !c.path.dead.Load() {
		return c.Conn.Close()
	}

	c.path.mu.Lock()
	defer c.path.mu.Unlock()

	c.path.left = append(c.path.left, c.Conn)

	return c.SetReadDeadline(time.Now())
}

func (p *path) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()

	return lossy{c, p.served.Add(1) == 1, p}, err
}

func (p *path) dial(ctx context.Context, _ string) (net.Conn, error) {
	c, err := p.DialContext(ctx)

	return lossy{c, p.made.Add(1) == 1, p}, err
}

// TestDeadPath makes the path to the server drop everything, in both directions.
func TestDeadPath(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())

		mem := memory.New()
		p := &path{Listener: bufconn.Listen(1 << 20)}
		g := grpc.NewServer(server.Options()...)
		v1alpha1.RegisterStateServer(g, server.New(mem))

		go g.Serve(p)

		conn, err := remote.Dial("passthrough:state", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(p.dial))
		ok(t, err)

		ch := make(chan state.Event)
		ok(t, remote.New(conn).WatchKind(ctx, item("", "").Metadata().Kind(), ch))
		set(t, mem, "a", "1")
		want(t, ch, state.Created, "a", 1)

		// A watch that is quiet for an hour keeps its one connection.
		time.Sleep(time.Hour)

		if n := p.made.Load(); n != 1 {
			t.Errorf("in an hour without events there were %d connections, want 1", n)
		}

		died := time.Now()

		p.dead.Store(true)
		set(t, mem, "b", "1")

		select {
		case ev := <-ch:
			if ev.Type != state.Created || ev.Resource.Metadata().ID() != "b" {
				t.Errorf("got %s of %s (%v)", ev.Type, ev.Resource.Metadata(), ev.Error)
			}
		case <-time.After(time.Hour):
			t.Error("the watch noticed nothing in an hour")
		}

		if took := time.Since(died); took > 40*time.Second {
			t.Errorf("the watch continued after %s", took)
		}

		cancel()
		conn.Close()
		g.Stop()
		p.Close()

		p.mu.Lock()
		defer p.mu.Unlock()

		for _, c := range p.left {
			c.Close()
		}
	})
}
