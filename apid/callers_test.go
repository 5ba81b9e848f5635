// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/pki"
)

// endsWithin is how long a stream may run after its caller is no longer admitted.
const endsWithin = time.Second

// running is a started stream that does not end by itself.
type running struct {
	grpc.ServerStreamingClient[common.Data]

	ended chan error
}

func follow(t *testing.T, client machine.MachineServiceClient, md ...string) running {
	t.Helper()

	stream, err := client.Logs(with(t.Context(), md...), &machine.LogsRequest{TailLines: 1, Follow: true})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}

	r := running{stream, make(chan error, 1)}

	go func() {
		_, err := stream.Recv()
		r.ended <- err
	}()

	return r
}

// ends checks that the stream ends in time, with the status.
func (r running) ends(t *testing.T, code codes.Code, text string) {
	t.Helper()

	start := time.Now()

	select {
	case err := <-r.ended:
		if status.Code(err) != code || !strings.Contains(err.Error(), text) {
			t.Errorf("the stream ended with %v, want %v, %q", err, code, text)
		}

		t.Logf("the stream ended after %s", time.Since(start).Round(time.Millisecond))
	case <-time.After(endsWithin):
		t.Errorf("the stream is alive after %s", endsWithin)
	}
}

func (r running) goesOn(t *testing.T, when string) {
	t.Helper()

	select {
	case err := <-r.ended:
		t.Errorf("%s: the stream ended: %v", when, err)
	case <-time.After(endsWithin):
	}
}

// maintenance returns the view of a machine without a configuration.
func maintenance(t testing.TB, ca *pki.CA) *View {
	t.Helper()

	open := view(t, ca)
	open.Open, open.Client, open.CAs, open.NoRouting = true, nil, nil, true

	return open
}

// TestMaintenanceEnds: a client without a certificate has streams and connections of every kind when the machine is configured.
func TestMaintenanceEnds(t *testing.T) {
	ca := newCA(t)

	for _, tt := range []struct {
		name string
		next []func() *View
	}{
		{"shut, then configured", []func() *View{func() *View { return maintenance(t, ca).shut() }, func() *View { return view(t, ca) }}},
		{"configured at once", []func() *View{func() *View { return view(t, ca) }}},
		{"shut", []func() *View{func() *View { return maintenance(t, ca).shut() }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := startNode(t, "m", maintenance(t, ca))

			release := make(chan struct{})
			n.version = func(context.Context) (*machine.VersionResponse, error) {
				<-release

				return &machine.VersionResponse{Messages: []*machine.Version{{Version: &machine.VersionInfo{Tag: "m"}}}}, nil
			}

			quiet := follow(t, dial(t, n, ca, nil))
			loud := flood(t, dial(t, n, ca, nil))
			deafReader(t, n, ca)
			idle := idleConnection(t, n, ca)

			configures := dial(t, n, ca, nil)
			answer := make(chan string, 1)

			go func() { answer <- tag(configures.Version(t.Context(), &emptypb.Empty{})) }()

			for calls, _ := n.seen(); calls < 4; calls, _ = n.seen() {
				time.Sleep(time.Millisecond)
			}

			for _, next := range tt.next {
				n.router.SetView(next())
			}

			changed := time.Now()

			quiet.ends(t, codes.Unauthenticated, "no client certificate")

			for name, ended := range map[string]<-chan error{"that sends": loud, "without a call": idle} {
				select {
				case err := <-ended:
					t.Logf("the stream %s ended: %v", name, err)
				case <-time.After(time.Until(changed.Add(endsWithin))):
					t.Errorf("the stream %s is alive %s after the change", name, time.Since(changed))
				}
			}

			time.Sleep(time.Until(changed.Add(endsWithin)))
			t.Logf("streams alive one second after the change: %d", n.router.callers.streams())

			if alive := n.router.callers.streams(); alive != 0 {
				t.Errorf("got %d streams, want none", alive)
			}

			close(release)

			if got := <-answer; got != "m" {
				t.Errorf("a call with one answer that ran: got %s, want its answer", got)
			}
		})
	}
}

// TestAnswerIsSent: the connection of a call that ends at any moment after the change of the view stays until the answer is sent.
func TestAnswerIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(func() *View { return &View{} })

		for at := time.Duration(0); at < 2*lastWord; at += lastWord / 16 {
			server, client := net.Pipe()
			conn := &connection{Conn: server, listener: &listener{pressure: &pressure{}}, state: closed}
			running := &call{callers: c, conn: conn, cancel: func(error) {}}
			c.calls[running] = struct{}{}

			c.dismiss(conn, time.Now().Add(unaryGrace))
			time.Sleep(at)
			running.end()

			start := time.Now()

			if _, err := client.Read(make([]byte, 1)); err != io.EOF || time.Since(start) < lastWord || time.Since(start) > 2*lastWord {
				t.Errorf("a call that ended after %s: its connection was closed after further %s (%v), want %s to %s", at, time.Since(start), err, lastWord, 2*lastWord)
			}
		}
	})
}

func (c *callers) streams() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	n := 0

	for call := range c.calls {
		if !call.unary {
			n++
		}
	}

	return n
}

// flood reads an endless stream.
func flood(t *testing.T, client machine.MachineServiceClient) <-chan error {
	t.Helper()

	stream, err := client.DiskUsage(t.Context(), &machine.DiskUsageRequest{})
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)

	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				ended <- err

				return
			}
		}
	}()

	return ended
}

// deafReader opens a stream that it does not read, so that the sender blocks.
func deafReader(t *testing.T, n *node, ca *pki.CA) {
	t.Helper()

	if _, err := dial(t, n, ca, nil).DiskUsage(t.Context(), &machine.DiskUsageRequest{}); err != nil {
		t.Fatal(err)
	}
}

// idleConnection opens a connection without calls.
func idleConnection(t *testing.T, n *node, ca *pki.CA) <-chan error {
	t.Helper()

	pool, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	conn, err := tls.Dial("tcp", n.addr, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)

	go func() {
		_, err := io.Copy(io.Discard, net.Conn(conn))
		ended <- err
	}()

	return ended
}

// TestStreamsEndWithTheirCertificate has a stream of one caller, one that another node serves for it, and one of another caller whose
// certificate is valid for longer.
func TestStreamsEndWithTheirCertificate(t *testing.T) {
	ca := newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))

	// Certificates end at whole seconds.
	end := time.Now().Add(3 * time.Second).Truncate(time.Second)
	short := dial(t, a, ca, pair(t, ca, pki.LeafOptions{Organization: []string{"os:admin"}, Client: true, TTL: time.Until(end)}))
	long := dial(t, a, ca, clientCert(t, ca, "os:admin"))

	own, other := follow(t, short), follow(t, short, "node", b.name)
	stays := follow(t, long, "node", b.name)

	time.Sleep(time.Until(end))
	own.ends(t, codes.Unauthenticated, "has expired")
	other.ends(t, codes.Unauthenticated, "has expired")
	stays.goesOn(t, "another certificate ended")
}

// TestRenewalEndsNothing: a node gets other certificates of its authority, and has none in between.
func TestRenewalEndsNothing(t *testing.T) {
	ca := newCA(t)

	// The node's client certificate is renewed while the stream runs.
	own := view(t, ca)
	own.Client = pair(t, ca, pki.LeafOptions{Organization: []string{contract.RoleImpersonator}, Client: true, TTL: 2 * time.Second})

	a, b := startNode(t, "a", own), startNode(t, "b", view(t, ca))
	client := dial(t, a, ca, clientCert(t, ca, "os:reader"))
	here, there := follow(t, client), follow(t, client, "node", b.name)

	a.router.SetView(view(t, ca))
	b.router.SetView(b.router.View().shut())
	b.router.SetView(view(t, ca))
	time.Sleep(2 * time.Second)

	here.goesOn(t, "renewed")
	there.goesOn(t, "renewed")
}
