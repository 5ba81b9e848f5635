// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// routerMessage returns a kernel message with options.
func routerMessage(options ...byte) []byte {
	m := []byte{10, 0, 0, 0, 7, 0, 0, 0, 134, 0, 0, 0, 0, 0, 0, 0}
	binary.NativeEndian.PutUint16(m[2:], uint16(len(options)))
	binary.NativeEndian.PutUint32(m[4:], 7)

	return append(m, options...)
}

func TestParseRouterOptions(t *testing.T) {
	server, none := netip.MustParseAddr("2001:db8::53").As16(), netip.IPv6Unspecified().As16()
	rdnss := slices.Concat([]byte{25, 5, 0, 0, 0, 0, 0x0e, 0x10}, server[:], none[:])
	dnssl := slices.Concat([]byte{31, 4, 0, 0, 255, 255, 255, 255}, []byte("\x03lab\x04test\x00"), []byte("\x04two.\x00\x02b\n"), []byte{0, 0, 0, 0, 0})
	dnssl = append(dnssl, make([]byte, 32-len(dnssl))...)
	mtu := []byte{5, 1, 0, 0, 0, 0, 5, 0}

	for _, tt := range []struct {
		name string
		data []byte
		want []RouterOption
	}{
		{"both, and another", routerMessage(slices.Concat(mtu, rdnss, dnssl)...), []RouterOption{
			{LinkIndex: 7, DNSServers: []netip.Addr{netip.AddrFrom16(server)}, Lifetime: time.Hour},
			{LinkIndex: 7, Search: []string{"lab.test", "two."}, Lifetime: math.MaxUint32 * time.Second},
		}},
		{"attributes after the options are none", append(routerMessage(rdnss...), dnssl...), []RouterOption{
			{LinkIndex: 7, DNSServers: []netip.Addr{netip.AddrFrom16(server)}, Lifetime: time.Hour},
		}},
		{"cut off", routerMessage(rdnss[:20]...), nil},
		{"of length 0", routerMessage(25, 0, 0, 0, 0, 0, 0, 0), nil},
		{"nothing", nil, nil},
		{"not of a router's advertisement", append([]byte{10, 0, 0, 0, 0, 0, 0, 0, 135}, make([]byte, 20)...), nil},
	} {
		got := parseRouterOptions(tt.data)
		if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func FuzzParseRouterOptions(f *testing.F) {
	server := netip.MustParseAddr("2001:db8::53").As16()
	f.Add(routerMessage(slices.Concat([]byte{25, 3, 0, 0, 0, 0, 0, 9}, server[:])...))
	f.Add(routerMessage([]byte("\x1f\x03\x00\x00\x00\x00\x00\x09\x03lab\x04test\x00\x00\x00\x00\x00\x00\x00")...))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range parseRouterOptions(data) {
			for _, name := range o.Search {
				if name == "" || strings.ContainsAny(name, "\n\r\t #;/\x00") {
					t.Errorf("name %q", name)
				}
			}

			for _, a := range o.DNSServers {
				if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() {
					t.Errorf("server %s", a)
				}
			}
		}
	})
}
