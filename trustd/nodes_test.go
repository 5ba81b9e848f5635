// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodesOwn: a machine gets the address that it calls from, and what belongs to its own Node, but nothing of another Node.
func TestNodesOwn(t *testing.T) {
	nodes := newNodes([]Node{
		{Name: "cp1", Addresses: addrs("10.5.0.2"), ControlPlane: true},
		{Name: "cp2.example.org", Addresses: addrs("10.5.0.4"), ControlPlane: true},
		{Name: "w1", Addresses: addrs("10.5.0.3", "fd00::3", "10.6.0.3")},
		{Name: "W2.example.org", Addresses: addrs("10.5.0.5")},
		// Its kubelet claims an address that is not its own.
		{Name: "thief", Addresses: addrs("10.5.0.66", "10.5.0.5", "10.5.0.2", "127.0.0.1")},
		{Name: "10.5.0.7", Addresses: addrs("10.5.0.7")},
		{Name: "db.a.example.org", Addresses: addrs("10.5.0.8")},
		{Name: "db.b.example.org", Addresses: addrs("10.5.0.9")},
	})

	for _, test := range []struct {
		name, from string
		passed     bool
		ask        Request
		want       Request
		left       string
		confirmed  string
	}{
		{
			name: "itself", from: "10.5.0.3",
			ask:       Request{CommonName: "w1.example.org", DNSNames: []string{"w1", "w1.example.org", "localhost"}, Addresses: addrs("10.5.0.3", "fd00::3", "127.0.0.1")},
			want:      Request{CommonName: "w1.example.org", DNSNames: []string{"w1", "w1.example.org", "localhost"}, Addresses: addrs("10.5.0.3", "fd00::3", "127.0.0.1")},
			confirmed: "w1 w1.example.org",
		},
		{
			name: "itself, from an address that its Node does not have", from: "10.6.0.3",
			ask:  Request{DNSNames: []string{"w1"}, Addresses: addrs("10.6.0.3", "10.5.0.3")},
			want: Request{DNSNames: []string{"w1"}, Addresses: addrs("10.6.0.3", "10.5.0.3")}, confirmed: "w1",
		},
		{
			name: "its Node has a domain", from: "::ffff:10.5.0.5",
			ask:  Request{CommonName: "w2", DNSNames: []string{"w2", "w2.example.org"}, Addresses: addrs("10.5.0.5")},
			want: Request{CommonName: "w2", DNSNames: []string{"w2", "w2.example.org"}, Addresses: addrs("10.5.0.5")}, confirmed: "w2 w2.example.org",
		},
		{
			name: "another worker's name and addresses", from: "10.5.0.66",
			ask:  Request{CommonName: "W1", DNSNames: []string{"W1", "w1.evil.example", "thief"}, Addresses: addrs("10.5.0.66", "10.5.0.3", "FD00::3")},
			want: Request{DNSNames: []string{"thief"}, Addresses: addrs("10.5.0.66")}, left: "10.5.0.3 fd00::3 W1 w1.evil.example CN=W1", confirmed: "thief",
		},
		{
			name: "an address of two Nodes belongs to the one that calls from it", from: "10.5.0.66",
			ask:  Request{DNSNames: []string{"thief", "w2"}, Addresses: addrs("10.5.0.66", "10.5.0.5")},
			want: Request{DNSNames: []string{"thief"}, Addresses: addrs("10.5.0.66")}, left: "10.5.0.5 w2", confirmed: "thief",
		},
		{
			name: "a control plane's name, in any domain", from: "10.5.0.66",
			ask:  Request{CommonName: "cp2", DNSNames: []string{"cp1", "cp1.example.org", "cp2", "cp2.example.org"}, Addresses: addrs("10.5.0.66")},
			want: Request{Addresses: addrs("10.5.0.66")}, left: "cp1 cp1.example.org cp2 cp2.example.org CN=cp2",
		},
		{
			name: "a first join", from: "10.5.0.20",
			ask:  Request{CommonName: "w9", DNSNames: []string{"w9", "w1"}, Addresses: addrs("10.5.0.20", "10.6.0.20", "10.5.0.3")},
			want: Request{CommonName: "w9", DNSNames: []string{"w9"}, Addresses: addrs("10.5.0.20", "10.6.0.20")}, left: "10.5.0.3 w1",
		},
		{
			name: "a worker with a new address", from: "10.5.0.21",
			ask:  Request{CommonName: "w1", DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.21")},
			want: Request{Addresses: addrs("10.5.0.21")}, left: "w1 CN=w1",
		},
		{
			name: "a machine with the address of a removed one", from: "10.5.0.3",
			ask:  Request{CommonName: "w10", DNSNames: []string{"w10"}, Addresses: addrs("10.5.0.3", "fd00::3")},
			want: Request{CommonName: "w10", DNSNames: []string{"w10"}, Addresses: addrs("10.5.0.3", "fd00::3")},
		},
		{
			name: "by a load balancer on the control plane", from: "10.5.0.2", passed: true,
			ask:  Request{CommonName: "w1", DNSNames: []string{"w1", "w2"}, Addresses: addrs("10.5.0.3", "10.5.0.5")},
			want: Request{CommonName: "w1", DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.3")}, left: "10.5.0.5 w2", confirmed: "w1",
		},
		{
			name: "by a load balancer, as a control plane", from: "10.5.0.2", passed: true,
			ask:  Request{CommonName: "cp2", DNSNames: []string{"cp1", "new"}, Addresses: addrs("10.5.0.20")},
			want: Request{DNSNames: []string{"new"}, Addresses: addrs("10.5.0.20")}, left: "cp1 CN=cp2",
		},
		{
			name: "a name that is an address is that one only", from: "10.5.0.7",
			ask:  Request{DNSNames: []string{"10.5.0.7", "10.example.org"}, Addresses: addrs("10.5.0.7")},
			want: Request{DNSNames: []string{"10.5.0.7", "10.example.org"}, Addresses: addrs("10.5.0.7")}, confirmed: "10.5.0.7",
		},
		{
			name: "two Nodes of one label", from: "10.5.0.8",
			ask:  Request{DNSNames: []string{"db", "db.a.example.org", "db.b.example.org"}, Addresses: addrs("10.5.0.8")},
			want: Request{DNSNames: []string{"db", "db.a.example.org"}, Addresses: addrs("10.5.0.8")}, left: "db.b.example.org", confirmed: "db db.a.example.org",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, left, confirmed := nodes.own(test.ask, netip.MustParseAddr(test.from), test.passed)
			if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}

			if got := strings.Join(left, " "); got != test.left {
				t.Errorf("left out: got %q, want %q", got, test.left)
			}

			for _, name := range strings.Fields(test.confirmed) {
				if !confirmed[name] {
					t.Errorf("%s is not confirmed: got %v", name, confirmed)
				}
			}

			if len(confirmed) != len(strings.Fields(test.confirmed)) {
				t.Errorf("confirmed: got %v, want %q", confirmed, test.confirmed)
			}
		})
	}

	// While no Node is known, no name belongs to another Node.
	ask := Request{CommonName: "w1", DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.3")}
	if got, left, confirmed := newNodes(nil).own(ask, netip.MustParseAddr("10.5.0.3"), false); len(got.DNSNames) != 1 || len(left)+len(confirmed) != 0 {
		t.Errorf("no Node is known: got %+v, left out %v, confirmed %v", got, left, confirmed)
	}
}
