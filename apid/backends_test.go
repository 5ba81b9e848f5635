// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
)

// count returns the number of connections to nodes.
func (b *backends) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return len(b.nodes)
}

// TestBackendsGoWithTheirNode: unused connections are closed, to a reachable and to an unreachable node.
func TestBackendsGoWithTheirNode(t *testing.T) {
	ca := newCA(t)
	v := view(t, ca)

	synctest.Test(t, func(t *testing.T) {
		b := newBackends("", func(int) {})
		defer b.close()

		b.use(v)

		conn, release, err := b.remote("10.5.0.3")
		if err != nil {
			t.Fatal(err)
		}

		again, releaseAgain, err := b.remote("10.5.0.3")
		if err != nil || again != conn {
			t.Fatalf("while it is used: got %v, %v, want the same connection", again, err)
		}

		release()
		release() // once
		time.Sleep(time.Hour)

		if b.count() != 1 {
			t.Error("the connection is closed while a call runs")
		}

		releaseAgain()
		time.Sleep(idleDead / 2)

		if _, release, err = b.remote("10.5.0.3"); err != nil {
			t.Fatal(err)
		}

		time.Sleep(idleDead)
		release()
		time.Sleep(idleDead - time.Second)

		if b.count() != 1 {
			t.Error("the connection is closed too early")
		}

		time.Sleep(2 * time.Second)

		if b.count() != 0 || conn.GetState() != connectivity.Shutdown {
			t.Errorf("an unused connection: got %d connections, %s, want it closed", b.count(), conn.GetState())
		}
	})
}

// TestBackendsAreBounded: a caller names ever more nodes.
func TestBackendsAreBounded(t *testing.T) {
	b := newBackends("", func(int) {})
	defer b.close()

	b.use(view(t, newCA(t)))

	for i := range maxBackends + 100 {
		_, release, err := b.remote("n" + strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}

		if i >= 10 {
			release()
		}
	}

	if len(b.nodes) != maxBackends || b.nodes["n0"] == nil || b.nodes["n10"] != nil {
		t.Errorf("got %d connections, want %d: those with calls and the newest others", len(b.nodes), maxBackends)
	}

	for i := range maxBackends - 10 {
		if _, _, err := b.remote("m" + strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}

	if _, _, err := b.remote("one-more"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("with calls to all: got %v, want ResourceExhausted", err)
	}
}

// TestBackendsOfNewCertificates changes certificates with and without running calls.
func TestBackendsOfNewCertificates(t *testing.T) {
	ca := newCA(t)
	b := newBackends("", func(int) {})

	defer b.close()

	first := view(t, ca)
	b.use(first)

	used, release, err := b.remote("used")
	if err != nil {
		t.Fatal(err)
	}

	unused, releaseUnused, err := b.remote("unused")
	if err != nil {
		t.Fatal(err)
	}

	releaseUnused()

	same := *first
	b.use(&same)

	if len(b.nodes) != 2 {
		t.Errorf("the same certificates: got %d connections, want both kept", len(b.nodes))
	}

	b.use(view(t, ca))

	if unused.GetState() != connectivity.Shutdown || used.GetState() == connectivity.Shutdown {
		t.Errorf("new certificates: the one without calls is %s, the other %s", unused.GetState(), used.GetState())
	}

	next, releaseNext, err := b.remote("used")
	if err != nil || next == used {
		t.Errorf("a new call: got %v, want another connection", err)
	}

	release()

	if used.GetState() != connectivity.Shutdown || len(b.retired) != 0 {
		t.Errorf("after its last call: got %s, want it closed", used.GetState())
	}

	releaseNext()
}

// TestNodeDiesDuringACall: a node's kernel acknowledges data, but its API does not answer.
func TestNodeDiesDuringACall(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a ping's answer")
	}

	ca := newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))

	// A connection to the node that can be cut silently.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	cut, stop := context.WithCancel(t.Context())
	defer stop()

	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}

		inner, err := net.Dial("tcp", b.addr)
		if err != nil {
			return
		}

		go pump(cut, conn, inner)
		pump(cut, inner, conn)
		<-t.Context().Done()
		conn.Close()
		inner.Close()
	}()

	addresses.Store("b", l.Addr().String())

	client := dial(t, a, ca, clientCert(t, ca, "os:admin"))

	stream, err := client.Logs(with(t.Context(), "node", "b"), &machine.LogsRequest{TailLines: 1, Follow: true})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}

	stop()

	start := time.Now()
	_, err = stream.Recv()

	want := "node b: call: "
	if s := status.Convert(err); s.Code() != codes.Unavailable || len(s.Message()) < len(want) || s.Message()[:len(want)] != want {
		t.Errorf("got %v, want %s", err, want)
	}

	if took := time.Since(start); took > 3*pingMin {
		t.Errorf("it took %s, want at most %s", took, 3*pingMin)
	}
}

func pump(cut context.Context, to, from net.Conn) {
	buf := make([]byte, 4096)

	for {
		n, err := from.Read(buf)
		if err != nil || cut.Err() != nil {
			return
		}

		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
