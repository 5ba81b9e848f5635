// SPDX-License-Identifier: Apache-2.0

package ip

import (
	"slices"
	"testing"
)

func packet4(size, proto byte, offset byte) []byte {
	b := make([]byte, int(size)*4+8)
	b[0], b[7], b[9] = 4<<4|size, offset, proto

	return b
}

func packet6(next byte, rest ...byte) []byte {
	b := make([]byte, 40)
	b[0], b[6] = 6<<4, next

	return append(b, rest...)
}

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		in   []byte
		want Upper
		ok   bool
	}{
		{"IPv4", packet4(5, UDP, 0), Upper{UDP, 20, false}, true},
		{"IPv4 with options", packet4(7, TCP, 0), Upper{TCP, 28, false}, true},
		{"IPv4 fragment", packet4(5, UDP, 3), Upper{UDP, 20, true}, true},
		{"IPv4 with a header too short", packet4(4, UDP, 0), Upper{}, false},
		{"IPv4 shorter than its header", packet4(15, UDP, 0)[:40], Upper{}, false},
		{"IPv6", packet6(UDP), Upper{UDP, 40, false}, true},
		{"IPv6 with extensions", packet6(hopByHop, slices.Concat([]byte{destination, 1}, make([]byte, 14), []byte{UDP, 0}, make([]byte, 6))...), Upper{UDP, 64, false}, true},
		{"IPv6 first fragment", packet6(fragment, UDP, 0, 0, 1, 0, 0, 0, 1), Upper{UDP, 48, false}, true},
		{"IPv6 later fragment", packet6(fragment, UDP, 0, 1, 0, 0, 0, 0, 1), Upper{UDP, 48, true}, true},
		{"IPv6 extension cut off", packet6(routing, UDP, 9, 0, 0, 0, 0, 0, 0), Upper{}, false},
		{"IPv6 header cut off", packet6(UDP)[:39], Upper{}, false},
		{"neither", make([]byte, 64), Upper{}, false},
		{"empty", nil, Upper{}, false},
	}

	for _, tt := range tests {
		got, ok := Parse(tt.in)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}

		if got, want := IsUDP(tt.in), tt.ok && tt.want.Protocol == UDP; got != want {
			t.Errorf("%s: got UDP %v, want %v", tt.name, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(packet4(5, UDP, 0))
	f.Add(packet6(fragment, hopByHop, 0, 0, 1, 0, 0, 0, 1))

	f.Fuzz(func(t *testing.T, b []byte) {
		if u, ok := Parse(b); ok && u.Offset > len(b) {
			t.Errorf("got offset %d in %d bytes", u.Offset, len(b))
		}
	})
}
