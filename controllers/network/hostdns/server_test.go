// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// listen runs a server on the loopback, and returns its address.
func listen(t *testing.T, r *Resolver) string {
	t.Helper()

	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", p.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- NewServer(r, slog.New(slog.DiscardHandler)).Serve(ctx, p, l) }()

	t.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return p.LocalAddr().String()
}

// TestServer: queries over UDP and TCP, several on a connection, and one whose answer panics.
func TestServer(t *testing.T) {
	w := newWorld()
	w.records["192.0.2.53"] = []string{one}
	r := w.resolver(nil, "192.0.2.53")
	plain := r.Exchange
	r.Exchange = func(ctx context.Context, to Upstream, q *dns.Msg) (*dns.Msg, error) {
		if q.Question[0].Name == "panic.example." {
			panic("a message")
		}

		return plain(ctx, to, q)
	}

	at := listen(t, r)

	for _, network := range []string{"udp", "tcp"} {
		conn, err := dns.Dial(network, at)
		if err != nil {
			t.Fatal(err)
		}

		for _, tt := range []struct{ name, want string }{{"one.example.", "NOERROR 192.0.2.1/300"}, {"panic.example.", "SERVFAIL"}, {"one.example.", "NOERROR 192.0.2.1/300"}} {
			var client dns.Client

			reply, _, err := client.ExchangeWithConn(new(dns.Msg).SetQuestion(tt.name, dns.TypeA), conn)
			if err != nil {
				t.Fatalf("%s: %s: %v", network, tt.name, err)
			}

			if got := text(reply); got != tt.want {
				t.Errorf("%s: %s: got %q, want %q", network, tt.name, got, tt.want)
			}
		}

		_ = conn.Close()
	}
}

// TestServerIsBounded: too many connections are closed, and too many queries are dropped, and afterwards others are answered.
func TestServerIsBounded(t *testing.T) {
	w := newWorld()
	w.dead["192.0.2.53"] = true

	names := Names{}
	names.Add("own", netip.MustParseAddr("192.0.2.1"))

	at := listen(t, w.resolver(names, "192.0.2.53"))

	var conns []net.Conn

	for range maxConns + 1 {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}

		conns = append(conns, conn)
	}

	last := conns[maxConns]
	_ = last.SetReadDeadline(time.Now().Add(5 * time.Second))

	if _, err := last.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection that is too much: got %v, want that it is closed", err)
	}

	for _, c := range conns {
		_ = c.Close()
	}

	// All queries of the server wait for the upstream, so that another one is dropped.
	conn, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	for i := range maxQueries {
		wire, _ := new(dns.Msg).SetQuestion(dns.Fqdn("n"+string(rune('a'+i%26))+string(rune('a'+i/26))), dns.TypeA).Pack()
		if _, err := conn.Write(wire); err != nil {
			t.Fatal(err)
		}
	}

	client := dns.Client{Timeout: 300 * time.Millisecond}
	dropped := false

	for range 3 {
		if _, _, err := client.Exchange(new(dns.Msg).SetQuestion("own.", dns.TypeA), at); errors.Is(err, os.ErrDeadlineExceeded) {
			dropped = true
		}
	}

	if !dropped {
		t.Errorf("a query beyond %d was answered", maxQueries)
	}

	client.Timeout = time.Second
	until := time.Now().Add(3 * queryTimeout)

	for {
		reply, _, err := client.Exchange(new(dns.Msg).SetQuestion("own.", dns.TypeA), at)
		if err == nil && text(reply) == "NOERROR 192.0.2.1/10" {
			return
		}

		if time.Now().After(until) {
			t.Fatalf("after the others have ended: got %v", err)
		}
	}
}
