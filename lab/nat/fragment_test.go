// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"bytes"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/ip4defrag"
	"github.com/gopacket/gopacket/layers"
)

// fragments splits a packet without options in two.
func fragments(t *testing.T, b []byte, at int) (first, later []byte) {
	t.Helper()

	cut := func(payload []byte, offset int, flags layers.IPv4Flag) []byte {
		p := gopacket.NewPacket(b, layers.LayerTypeIPv4, gopacket.Default)
		ip, _ := p.NetworkLayer().(*layers.IPv4)
		ip.FragOffset, ip.Flags = uint16(offset/8), flags

		return build(t, ip, gopacket.Payload(payload))
	}

	return cut(b[20:20+at], 0, layers.IPv4MoreFragments), cut(b[20+at:], at, 0)
}

func TestFragments(t *testing.T) {
	now := time.Now()

	table, err := New(Config{External: at(external + ":0").Addr(), Allocation: Sequential})
	if err != nil {
		t.Fatal(err)
	}

	whole := probe(t, udp, at(hostA), at(serverX), "", string(bytes.Repeat([]byte("x"), 100)))
	first, later := fragments(t, whole, 32)

	if v := table.Translate(Outbound, bytes.Clone(later), now); v != FragmentAlone {
		t.Errorf("before its first: got %v, want %v", v, FragmentAlone)
	}

	// The reassembled packet must have a correct checksum.
	defrag := ip4defrag.NewIPv4Defragmenter()

	var got *layers.IPv4

	for i, b := range [][]byte{first, bytes.Clone(later)} {
		if v := table.Translate(Outbound, b, now); v != Pass {
			t.Fatalf("fragment %d: got %v, want %v", i, v, Pass)
		}

		ip, _ := gopacket.NewPacket(b, layers.LayerTypeIPv4, gopacket.Default).NetworkLayer().(*layers.IPv4)
		if got, err = defrag.DefragIPv4(ip); err != nil {
			t.Fatal(err)
		}
	}

	if got == nil {
		t.Fatal("the fragments do not form one packet any more")
	}

	got.Flags, got.FragOffset = 0, 0
	together := build(t, got, gopacket.Payload(got.Payload))

	if got, want := arrow(t, together), ext(1024)+" > "+serverX; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	// And the answer.
	first, answer := fragments(t, probe(t, udp, at(serverX), at(ext(1024)), "", string(bytes.Repeat([]byte("y"), 100))), 32)
	for i, b := range [][]byte{first, answer} {
		if v := table.Translate(Inbound, b, now); v != Pass || !bytes.Equal(b[16:20], []byte{10, 0, 0, 1}) {
			t.Errorf("fragment %d of the answer: got %v to %v, want %v to 10.0.0.1", i, v, b[16:20], Pass)
		}
	}

	if v := table.Translate(Outbound, bytes.Clone(later), now.Add(fragmentTimeout)); v != FragmentAlone {
		t.Errorf("too late: got %v, want %v", v, FragmentAlone)
	}
}

func TestFragmentsAreBounded(t *testing.T) {
	now := time.Now()

	table, err := New(Config{External: at(external + ":0").Addr()})
	if err != nil {
		t.Fatal(err)
	}

	whole := probe(t, udp, at(hostA), at(serverX), "", "01234567")

	for i := range fragmentLimit + 10 {
		whole[4], whole[5] = byte(i>>8), byte(i)
		first, _ := fragments(t, whole, 8)
		table.Translate(Outbound, first, now)
	}

	if got := len(table.parts); got != fragmentLimit {
		t.Errorf("got %d packets remembered, want %d", got, fragmentLimit)
	}
}
