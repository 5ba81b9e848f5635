// SPDX-License-Identifier: Apache-2.0

package acd

import (
	"net/netip"
	"testing"
)

func TestParse(t *testing.T) {
	mac := [6]byte{2, 0, 0, 0, 0, 1}
	addr := netip.MustParseAddr("10.5.0.2")

	said := probe(mac, netip.MustParseAddr("10.5.0.9"))
	copy(said[14:18], addr.AsSlice())

	change := func(at int, b byte) []byte {
		p := append([]byte{}, said...)
		p[at] = b

		return p
	}

	for _, test := range []struct {
		name   string
		packet []byte
		want   bool
	}{
		{"the owner announces it", said, true},
		{"with padding", append(append([]byte{}, said...), make([]byte, 18)...), true},
		{"an answer", change(7, 2), true},
		{"a probe", probe(mac, addr), false},
		{"cut", said[:27], false},
		{"empty", nil, false},
		{"of another network", change(1, 6), false},
		{"of another protocol", change(2, 0x86), false},
		{"longer addresses", change(4, 8), false},
		{"by a group", change(8, 3), false},
	} {
		got, by, ok := parse(test.packet)
		if ok != test.want || ok && (got != addr || by != mac) {
			t.Errorf("%s: got %s by %x, %t", test.name, got, by, ok)
		}
	}

	if p := probe(mac, addr); len(p) != 28 || netip.AddrFrom4([4]byte(p[24:28])) != addr || p[7] != 1 {
		t.Errorf("probe: got %x", p)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(probe([6]byte{2}, netip.MustParseAddr("10.5.0.2")))

	f.Fuzz(func(t *testing.T, packet []byte) {
		if addr, by, ok := parse(packet); ok && (!addr.Is4() || addr.IsUnspecified() || by[0]&1 != 0) {
			t.Errorf("got %s by %x", addr, by)
		}
	})
}

// TestAnnouncement: an announcement is read as the use of the address.
func TestAnnouncement(t *testing.T) {
	mac, addr := [6]byte{2, 0, 0, 0, 0, 1}, netip.MustParseAddr("10.5.0.2")

	got, by, ok := parse(announcement(mac, addr))
	if !ok || got != addr || by != mac {
		t.Errorf("got %s by %x, %t", got, by, ok)
	}
}
