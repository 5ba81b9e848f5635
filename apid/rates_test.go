// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

// from is a connection from an address.
type from struct {
	net.Conn

	addr   netip.Addr
	closed bool
}

func (f *from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(f.addr, 1)) }
func (f *from) Close() error         { f.closed = true; return nil }

// fromNetwork returns the nth address of an IPv4 network, or of the nth /64 of an IPv6 network.
func fromNetwork(base string, n int, networks bool) netip.Addr {
	raw := netip.MustParseAddr(base).As16()

	at := 14
	if networks {
		at = 6
	}

	raw[at], raw[at+1] = byte(n>>8), byte(n)

	return netip.AddrFrom16(raw)
}

// TestManyHosts: strangers connect from many addresses while an administrator, who was admitted before, does a handshake.
func TestManyHosts(t *testing.T) {
	administrator := netip.MustParseAddr("fd00::1")

	for _, tt := range []struct {
		name string
		addr func(n int) netip.Addr
	}{
		{"one address", func(int) netip.Addr { return netip.MustParseAddr("192.0.2.1") }},
		{"one /64 network", func(n int) netip.Addr { return fromNetwork("2001:db8::", n, false) }},
		{"many /64 networks", func(n int) netip.Addr { return fromNetwork("2001:db8::", n, true) }},
		{"many IPv4 addresses", func(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newListener(nil, newPressure(nil))

			first, _ := l.accept(&from{addr: administrator})
			if err := first.admit(nil); err != nil {
				t.Fatal(err)
			}

			var own []*from

			admitted := 0

			for n := range 5000 {
				if n%1000 == 0 {
					c := &from{addr: administrator}

					v, out := l.accept(c)
					if v == nil {
						t.Fatalf("after %d strangers: the administrator is refused", n)
					}

					if out != nil {
						out.Close()
					}

					own = append(own, c)
				}

				v, out := l.accept(&from{addr: tt.addr(n)})
				if v != nil {
					admitted++
				}

				if out != nil {
					out.Close()
				}
			}

			for i, c := range own {
				if c.closed {
					t.Errorf("connection %d of the administrator was closed for strangers", i)
				}
			}

			t.Logf("of 5000 strangers at once %d may do a handshake", admitted)

			if admitted > handshakesOfStrangersAtOnce+handshakesOfStrangers || l.pendingCount > maxPending {
				t.Errorf("got %d handshakes and %d pending, want at most %d and %d", admitted, l.pendingCount, handshakesOfStrangersAtOnce, maxPending)
			}
		})
	}
}

// TestRates: the account of a host recovers after a while, and memory is bounded.
func TestRates(t *testing.T) {
	r, now := newRates(), time.Now()
	one := netgroup.Of(netip.MustParseAddr("192.0.2.1"))
	allowed := 0

	for range 2 * handshakesOfHostAtOnce {
		if r.allow(one, now) {
			allowed++
		}
	}

	if allowed != handshakesOfHostAtOnce {
		t.Errorf("at once: got %d handshakes, want %d", allowed, handshakesOfHostAtOnce)
	}

	if now = now.Add(time.Second); !r.allow(one, now) {
		t.Error("a second later: got none, want some")
	}

	for n := range 3 * maxHosts {
		r.allow(netgroup.Of(fromNetwork("2001:db8::", n, true)), now.Add(time.Duration(n)*time.Millisecond))
	}

	if len(r.hosts) > maxHosts {
		t.Errorf("got %d accounts, want at most %d", len(r.hosts), maxHosts)
	}

	// An admitted host stays known for a day.
	r.entered(one, now)

	if !r.known(one, now.Add(lately-time.Second)) || r.known(one, now.Add(lately)) {
		t.Error("an admitted host: want it known for a day")
	}
}
