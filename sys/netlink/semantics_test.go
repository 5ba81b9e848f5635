// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// semantics are what the controllers of the network rely on, each as steps on the link va and the state after them: the errors of the
// steps, the addresses of va, its routes in the table main.
var semantics = []struct{ name, steps, want string }{
	{"an address brings its network", "addr 192.0.2.2/24", `
192.0.2.2/24 scope 0
192.0.2.0/24 dev va metric 0 proto 2 src 192.0.2.2
`},
	{"a route goes with its source address, not with its gateway's network", `
addr 192.0.2.2/24
addr 198.51.100.1/24
route default via 198.51.100.9 metric 1024
route 203.0.113.0/24 via 192.0.2.1 metric 5 src 198.51.100.1
-addr 198.51.100.1/24`, `
192.0.2.2/24 scope 0
192.0.2.0/24 dev va metric 0 proto 2 src 192.0.2.2
default via 198.51.100.9 dev va metric 1024 proto 4
`},
	{"with the last address all routes go", "addr 192.0.2.2/24\nroute default via 192.0.2.1 metric 1024\n-addr 192.0.2.2/24", ""},
	{"the second address of a network goes with the first", "addr 192.0.2.2/24\naddr 192.0.2.3/24\naddr 198.51.100.1/32\n-addr 192.0.2.2/24", `
198.51.100.1/32 scope 0
`},
	{"unless it is promoted", "promote\naddr 192.0.2.2/24\naddr 192.0.2.3/24\nroute default via 192.0.2.1 metric 1024\n-addr 192.0.2.2/24", `
192.0.2.3/24 scope 0
192.0.2.0/24 dev va metric 0 proto 2 src 192.0.2.3
default via 192.0.2.1 dev va metric 1024 proto 4
`},
	{"down: routes go, IPv4 addresses stay", `
addr 192.0.2.2/24
addr 2001:db8::2/64
route default via 192.0.2.1 metric 1024
route default via 2001:db8::1 metric 1024
down`, `
192.0.2.2/24 scope 0
`},
	{"only bonds, bridges and their like have members", "master vb", "master vb: operation not supported"},
	{"down and up: the network is back, other routes are not", "addr 192.0.2.2/24\nroute default via 192.0.2.1 metric 1024\ndown\nup", `
192.0.2.2/24 scope 0
192.0.2.0/24 dev va metric 0 proto 2 src 192.0.2.2
`},
	{"without a carrier all stays", "addr 192.0.2.2/24\nroute default via 192.0.2.1 metric 1024\nunplug", `
192.0.2.2/24 scope 0
192.0.2.0/24 dev va metric 0 proto 2 src 192.0.2.2
default via 192.0.2.1 dev va metric 1024 proto 4
`},
	{"a route takes the place of the one with its key", `
addr 192.0.2.2/24
route default via 192.0.2.1 metric 1024
route default via 192.0.2.9 metric 1024
route default via 192.0.2.1 metric 1025`, `
192.0.2.2/24 scope 0
192.0.2.0/24 dev va metric 0 proto 2 src 192.0.2.2
default via 192.0.2.1 dev va metric 1025 proto 4
default via 192.0.2.9 dev va metric 1024 proto 4
`},
	{"IPv6 too", `
addr 2001:db8::2/64
route default via 2001:db8::1 metric 1024
route default via 2001:db8::9 metric 1024`, `
2001:db8::2/64 scope 0
2001:db8::/64 dev va metric 256 proto 2
default via 2001:db8::9 dev va metric 1024 proto 4
`},
	{"gateways out of reach", `
addr 192.0.2.2/24
addr 2001:db8::2/64
route default via 172.16.0.1 metric 1
route default via 2001:db9::1 metric 1
route default via 2001:db8::2 metric 1
route 203.0.113.0/24 via 192.0.2.1 metric 1 src 192.0.2.77
route 2001:db8:1::/48 via 2001:db8::1 metric 1 src 2001:db8::77
route 203.0.113.7/24 via 192.0.2.1 metric 1
route default via 172.16.0.1 metric 2 onlink`, `
route default via 172.16.0.1 metric 1: network is unreachable
route default via 2001:db9::1 metric 1: no route to host
route default via 2001:db8::2 metric 1: invalid argument
route 203.0.113.0/24 via 192.0.2.1 metric 1 src 192.0.2.77: invalid argument
route 2001:db8:1::/48 via 2001:db8::1 metric 1 src 2001:db8::77: invalid argument
route 203.0.113.7/24 via 192.0.2.1 metric 1: invalid argument
192.0.2.2/24 scope 0
2001:db8::2/64 scope 0
192.0.2.0/24 dev va metric 0 proto 2 src 192.0.2.2
2001:db8::/64 dev va metric 256 proto 2
default via 172.16.0.1 dev va metric 2 onlink proto 4
`},
	{"over a link that is down", "addr 192.0.2.2/24\ndown\nroute default via 192.0.2.1 metric 1\nroute 203.0.113.0/24 metric 1\nroute 2001:db8:1::/48 metric 1", `
route default via 192.0.2.1 metric 1: network is unreachable
route 203.0.113.0/24 metric 1: network is down
route 2001:db8:1::/48 metric 1: network is down
192.0.2.2/24 scope 0
`},
	{"a gateway behind a route of its own", "addr 192.0.2.2/32\nroute 198.51.100.1/32 metric 1\nroute default via 198.51.100.1 metric 1", `
192.0.2.2/32 scope 0
198.51.100.1/32 dev va metric 1 proto 4
default via 198.51.100.1 dev va metric 1 proto 4
`},
	{"IPv6: an address once, the kernel's scope, no source without its address", `
addr 2001:db8::2/64
addr 2001:db8::2/128
addr 2001:db8::9/128
addr fec0::1/64
route 2001:db8:1::/48 via 2001:db8::1 metric 1 src 2001:db8::9
-addr 2001:db8::9/128`, `
addr 2001:db8::2/128: file exists
2001:db8::2/64 scope 0
fec0::1/64 scope 200
2001:db8:1::/48 via 2001:db8::1 dev va metric 1 proto 4
2001:db8::/64 dev va metric 256 proto 2
fec0::/64 dev va metric 256 proto 2
`},
	{"MTUs", "mtu 67\nmtu 65536\nmtu 1400\naddr 2001:db8::2/64\nmtu 1000\naddr 2001:db8::2/64", `
mtu 67: invalid argument
mtu 65536: invalid argument
addr 2001:db8::2/64: invalid argument
`},
	{"names", "create abcdefghijklmno\ncreate abcdefghijklmnop\ncreate va", `
create abcdefghijklmnop: numerical result out of range
create va: file exists
`},
	{"what is not there goes without an error", "-addr 192.0.2.2/24\n-route default via 192.0.2.1 metric 7", ""},
}

// scene returns a kernel with the pair va, vb, both up.
type scene struct {
	t       *testing.T
	k       netlink.Kernel
	promote func()
}

func (s *scene) index(name string) uint32 { return linkNamed(s.t, s.k, name).Index }

// step executes one line of a script.
func (s *scene) step(line string) error {
	words := strings.Fields(line)
	va := s.index("va")
	up := words[0] == "up"

	switch words[0] {
	case "addr", "-addr":
		a := netlink.Address{LinkIndex: va, Prefix: netip.MustParsePrefix(words[1])}
		if a.Prefix.Addr().Is6() {
			a.Flags = unix.IFA_F_NODAD
		}

		if words[0] == "addr" {
			return s.k.AddAddress(a)
		}

		return s.k.DeleteAddress(a)
	case "route":
		return s.k.ReplaceRoute(routeOf(va, words[1:]))
	case "-route":
		return s.k.DeleteRoute(routeOf(va, words[1:]))
	case "up", "down":
		return s.k.SetLink(va, netlink.LinkChange{Up: &up})
	case "unplug":
		return s.k.SetLink(s.index("vb"), netlink.LinkChange{Up: &up})
	case "mtu":
		mtu, _ := strconv.Atoi(words[1])

		return s.k.SetLink(va, netlink.LinkChange{MTU: ptr(uint32(mtu))})
	case "create":
		return s.k.CreateLink(netlink.NewLink{Name: words[1], Kind: "veth", VethPeer: "peer"})
	case "master":
		return s.k.SetLink(va, netlink.LinkChange{Master: ptr(s.index(words[1]))})
	case "promote":
		s.promote()

		return nil
	default:
		return fmt.Errorf("no step %q", line)
	}
}

// routeOf reads DESTINATION [via GATEWAY] metric N [src ADDRESS] [onlink].
func routeOf(index uint32, words []string) netlink.Route {
	r := netlink.Route{LinkIndex: index, Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST, Protocol: unix.RTPROT_STATIC}

	var known netip.Addr

	if p, err := netip.ParsePrefix(words[0]); err == nil {
		r.Destination, known = p, p.Addr()
	}

	for i, w := range words {
		switch w {
		case "via":
			r.Gateway = netip.MustParseAddr(words[i+1])
			known = r.Gateway
		case "metric":
			n, _ := strconv.Atoi(words[i+1])
			r.Priority = uint32(n)
		case "src":
			r.Source = netip.MustParseAddr(words[i+1])
		case "onlink":
			r.Flags |= unix.RTNH_F_ONLINK
		}
	}

	r.Family = unix.AF_INET
	if known.Is6() {
		r.Family = unix.AF_INET6
	}

	if !r.Gateway.IsValid() && known.Is4() {
		r.Scope = unix.RT_SCOPE_LINK
	}

	return r
}

// state prints what is on va, without what the kernel adds to every link with IPv6.
func (s *scene) state() string {
	s.t.Helper()

	va := s.index("va")

	addresses, err := s.k.Addresses()
	if err != nil {
		s.t.Fatal(err)
	}

	var lines []string

	for _, a := range addresses {
		if a.LinkIndex == va && !a.Prefix.Addr().IsLinkLocalUnicast() {
			lines = append(lines, fmt.Sprintf("%s scope %d", a.Prefix, a.Scope))
		}
	}

	slices.Sort(lines)

	routes, err := s.k.Routes()
	if err != nil {
		s.t.Fatal(err)
	}

	var more []string

	for _, r := range routes {
		if r.LinkIndex != va || r.Table != unix.RT_TABLE_MAIN || r.Destination.Addr().IsLinkLocalUnicast() {
			continue
		}

		text := strings.Replace(strings.Replace(r.String(), fmt.Sprintf("dev %d", va), "dev va", 1), " table 254", "", 1)
		text += fmt.Sprintf(" proto %d", r.Protocol)

		if r.Source.IsValid() {
			text += " src " + r.Source.String()
		}

		more = append(more, text)
	}

	slices.Sort(more)

	return strings.Join(append(lines, more...), "\n")
}

func (s *scene) run(steps string) string {
	s.t.Helper()

	var said []string

	for line := range strings.Lines(strings.TrimSpace(steps)) {
		line = strings.TrimSpace(line)

		if err := s.step(line); err != nil {
			var errno unix.Errno
			if !errors.As(err, &errno) {
				s.t.Fatal(err)
			}

			said = append(said, line+": "+errno.Error())
		}
	}

	return strings.TrimSpace(strings.Join(append(said, s.state()), "\n"))
}

func testSemantics(t *testing.T, k func() netlink.Kernel, promote func(netlink.Kernel)) {
	t.Helper()

	for _, tt := range semantics {
		t.Run(tt.name, func(t *testing.T) {
			s := &scene{t: t, k: k()}
			s.promote = func() { promote(s.k) }
			a, _ := veth(t, s.k)

			if diff := cmp.Diff(strings.TrimSpace(tt.want), s.run(tt.steps)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			if err := s.k.DeleteLink(a.Index); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestFakeSemantics(t *testing.T) {
	testSemantics(t,
		func() netlink.Kernel {
			k := &netlinktest.Kernel{}
			k.Plug(netlink.Link{Name: "lo", Type: 772, MTU: 65536})

			return k
		},
		func(k netlink.Kernel) { k.(*netlinktest.Kernel).Promote = true })
}

func TestRealSemantics(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)

	setPromote(t, "0")
	testSemantics(t, func() netlink.Kernel { setPromote(t, "0"); return k }, func(netlink.Kernel) { setPromote(t, "1") })
}

// setPromote sets a parameter of the test's network namespace.
func setPromote(t *testing.T, value string) {
	t.Helper()

	if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/promote_secondaries", []byte(value), 0); err != nil {
		t.Skip(err)
	}
}
