// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClaims has requests of workers and others, in order.
func TestClaims(t *testing.T) {
	c, now := newClaims(), time.Now()
	life := 24 * time.Hour
	same := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

	for _, step := range []struct {
		name string
		from string
		ask  Request
		want Request
		left []string
		wait time.Duration
		// confirmed are the names of the caller's Node.
		confirmed map[string]bool
	}{
		{
			name: "a worker", from: "10.5.0.3",
			ask:  Request{CommonName: "w1", DNSNames: []string{"w1", "w1.example.org", "localhost"}, Addresses: addrs("10.5.0.3", "fd00::3", "127.0.0.1")},
			want: Request{CommonName: "w1", DNSNames: []string{"w1", "w1.example.org", "localhost"}, Addresses: addrs("10.5.0.3", "fd00::3", "127.0.0.1")},
		},
		{
			name: "another holder of the token requests its names", from: "10.5.0.66",
			ask:  Request{CommonName: "W1", DNSNames: []string{"W1.example.org", "mine", "localhost"}, Addresses: addrs("10.5.0.66", "10.5.0.3", "fd00::3")},
			want: Request{DNSNames: []string{"mine", "localhost"}, Addresses: addrs("10.5.0.66")},
			left: []string{"10.5.0.3", "fd00::3", "W1.example.org", "CN=W1"},
		},
		{
			name: "the worker renews", from: "::ffff:10.5.0.3", wait: 12 * time.Hour,
			ask:  Request{CommonName: "w1", DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.3", "fd00::3")},
			want: Request{CommonName: "w1", DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.3", "fd00::3")},
		},
		{
			name: "its certificate still lives", from: "10.5.0.66", wait: 20 * time.Hour,
			ask:  Request{DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.66")},
			want: Request{Addresses: addrs("10.5.0.66")}, left: []string{"w1"},
		},
		{
			name: "another machine has its address now", from: "10.5.0.3",
			ask:  Request{CommonName: "w2", DNSNames: []string{"w2"}, Addresses: addrs("10.5.0.3")},
			want: Request{CommonName: "w2", DNSNames: []string{"w2"}, Addresses: addrs("10.5.0.3")},
		},
		{
			name: "a day later the name is free", from: "10.5.0.4", wait: 25 * time.Hour,
			ask:  Request{CommonName: "w1", Addresses: addrs("10.5.0.4")},
			want: Request{CommonName: "w1", Addresses: addrs("10.5.0.4")},
		},
		{
			name: "a name is claimed before its machine exists", from: "10.5.0.66",
			ask:  Request{CommonName: "w9", DNSNames: []string{"w9"}, Addresses: addrs("10.5.0.66")},
			want: Request{CommonName: "w9", DNSNames: []string{"w9"}, Addresses: addrs("10.5.0.66")},
		},
		{
			name: "the machine, before its Node exists", from: "10.5.0.9",
			ask:  Request{CommonName: "w9", DNSNames: []string{"w9"}, Addresses: addrs("10.5.0.9")},
			want: Request{Addresses: addrs("10.5.0.9")}, left: []string{"w9", "CN=w9"},
		},
		{
			name: "and with it", from: "10.5.0.9", confirmed: map[string]bool{"w9": true},
			ask:  Request{CommonName: "w9", DNSNames: []string{"w9"}, Addresses: addrs("10.5.0.9")},
			want: Request{CommonName: "w9", DNSNames: []string{"w9"}, Addresses: addrs("10.5.0.9")},
		},
	} {
		now = now.Add(step.wait)

		got, left := c.take(step.ask, netip.MustParseAddr(step.from), step.confirmed, now, life)
		if diff := cmp.Diff(step.want, got, same); diff != "" {
			t.Errorf("%s: granted (-want +got):\n%s", step.name, diff)
		}

		if diff := cmp.Diff(step.left, left); diff != "" {
			t.Errorf("%s: left out (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestClaimsAreBounded: a holder of the token claims all that it can. Other nodes still get their own address.
func TestClaimsAreBounded(t *testing.T) {
	c, now := newClaims(), time.Now()

	for i := range maxClaims {
		c.take(Request{DNSNames: []string{fmt.Sprintf("n%d", i)}}, netip.MustParseAddr("10.5.0.66"), nil, now, time.Hour)
	}

	ask := Request{DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.3")}

	if got, left := c.take(ask, netip.MustParseAddr("10.5.0.3"), nil, now, time.Hour); len(got.Addresses) != 1 || len(left) != 1 || len(c.of) > maxClaims {
		t.Errorf("got %+v, left %q, %d claims", got, left, len(c.of))
	}

	if got, left := c.take(ask, netip.MustParseAddr("10.5.0.3"), nil, now.Add(2*time.Hour), time.Hour); len(got.DNSNames) != 1 || len(left) != 0 {
		t.Errorf("when they are over: got %+v, left %q", got, left)
	}
}
