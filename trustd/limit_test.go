// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	l := newLimiter()
	now := time.Unix(1_800_000_000, 0)
	a, b := netip.MustParseAddr("10.5.0.3"), netip.MustParseAddr("10.5.0.4")

	granted := func(addr netip.Addr, tries int, at time.Time) (n int) {
		for range tries {
			if l.allow(addr, at) {
				n++
			}
		}

		return n
	}

	if got := granted(a, 100, now); got != requestsAtOnce {
		t.Errorf("at once: got %d of 100, want %d", got, requestsAtOnce)
	}

	if got := granted(netip.MustParseAddr("::ffff:10.5.0.3"), 10, now); got != 0 {
		t.Errorf("the same peer over a mapped address: got %d, want none", got)
	}

	if got := granted(b, 5, now); got != 5 {
		t.Errorf("another peer: got %d of 5, want all", got)
	}

	if got := granted(a, 100, now.Add(3*time.Second)); got != 3*requestsPerSecond {
		t.Errorf("three seconds later: got %d, want %d", got, 3*requestsPerSecond)
	}

	if got := granted(netip.MustParseAddr("fd00::1"), 100, now) + granted(netip.MustParseAddr("fd00::ffff:1"), 100, now); got != requestsAtOnce {
		t.Errorf("two addresses of one IPv6 network: got %d, want %d", got, requestsAtOnce)
	}
}

// TestLimitIsBounded has more peers than accounts, twice.
func TestLimitIsBounded(t *testing.T) {
	l := newLimiter()
	now := time.Unix(1_800_000_000, 0)

	peer := func(i int) netip.Addr {
		var ip [4]byte

		binary.BigEndian.PutUint32(ip[:], uint32(10<<24+i))

		return netip.AddrFrom4(ip)
	}

	for i := range maxPeers {
		if !l.allow(peer(i), now) {
			t.Fatalf("peer %d: its first request was not allowed", i)
		}
	}

	granted := 0

	for i := range 10 * maxPeers {
		if l.allow(peer(maxPeers+i), now) {
			granted++
		}
	}

	if granted != requestsAtOnce {
		t.Errorf("peers without an account: got %d granted, want %d for all of them", granted, requestsAtOnce)
	}

	if len(l.peers) > maxPeers {
		t.Errorf("got %d accounts, want at most %d", len(l.peers), maxPeers)
	}

	if later := now.Add(time.Minute); !l.allow(peer(100*maxPeers), later) || len(l.peers) != 1 {
		t.Errorf("a minute later: got %d accounts, want full ones removed", len(l.peers))
	}
}

// TestBoundedListener opens more connections than the limits.
func TestBoundedListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	const all, each = 5, 3

	l := bounded(inner, all, each)
	accepted := make(chan net.Conn, 100)
	done := make(chan struct{})

	go func() {
		defer close(done)

		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}

			accepted <- conn
		}
	}()

	var held []net.Conn

	t.Cleanup(func() {
		l.Close()
		<-done

		for _, conn := range held {
			conn.Close()
		}
	})

	// opened reports whether the listener keeps a connection from an address.
	opened := func(from string) net.Conn {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}

		conn, err := dialer.DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}

		held = append(held, conn)

		refused := make(chan struct{})

		go func() {
			var one [1]byte

			conn.Read(one[:]) // its end is what matters
			close(refused)
		}()

		select {
		case server := <-accepted:
			held = append(held, server)

			return server
		case <-refused:
			return nil
		}
	}

	first := opened("127.0.0.1")

	for i, from := range []string{"127.0.0.1", "127.0.0.1"} {
		if opened(from) == nil {
			t.Errorf("connection %d of one peer was refused", i+2)
		}
	}

	if opened("127.0.0.1") != nil {
		t.Error("a connection over the limit of one peer was kept")
	}

	if opened("127.0.0.2") == nil || opened("127.0.0.3") == nil {
		t.Error("other peers were refused")
	}

	if opened("127.0.0.4") != nil {
		t.Error("a connection over the limit of all was kept")
	}

	first.Close() // counted once
	first.Close() // counted once

	if opened("127.0.0.4") == nil || opened("127.0.0.5") != nil {
		t.Error("a closed connection did not make room for exactly one")
	}
}
