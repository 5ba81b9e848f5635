// SPDX-License-Identifier: Apache-2.0

package pcap

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNgJoin: two joined files are equal to one capture of both links.
func TestNgJoin(t *testing.T) {
	at := time.Unix(1700000000, 7)
	packet := func(file []byte, number int, text string) []byte {
		return AppendNg(file, number, at, Inbound, []byte(text), len(text))
	}

	var got bytes.Buffer

	join := NewNgJoin(&got)
	a, b := join.Source(), join.Source()

	for _, w := range []struct {
		to     interface{ Write([]byte) (int, error) }
		blocks []byte
	}{
		{b, NgHeader()},
		{a, NgHeader()},
		{a, packet(AppendNgInterface(nil, "a0", Ethernet, 0), 0, "first")},
		{b, packet(AppendNgInterface(nil, "b0", Ethernet, 0), 0, "second")},
		{a, packet(packet(AppendNgInterface(nil, "a1", Ethernet, 0), 1, "third"), 0, "fourth")},
		{b, packet(nil, 0, "fifth")},
	} {
		if n, err := w.to.Write(w.blocks); err != nil || n != len(w.blocks) {
			t.Fatalf("write: got %d, %v, want %d", n, err, len(w.blocks))
		}
	}

	want := packet(AppendNgInterface(NgHeader(), "a0", Ethernet, 0), 0, "first")
	want = packet(AppendNgInterface(want, "b0", Ethernet, 0), 1, "second")
	want = packet(packet(AppendNgInterface(want, "a1", Ethernet, 0), 2, "third"), 0, "fourth")
	want = packet(want, 1, "fifth")

	if d := cmp.Diff(want, got.Bytes()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNgJoinRefuses(t *testing.T) {
	whole := AppendNg(nil, 0, time.Unix(0, 0), Inbound, []byte("x"), 1)

	tests := []struct {
		name   string
		blocks []byte
	}{
		{"half a block", NgHeader()[:10]},
		{"a block longer than what is there", NgHeader()[:20]},
		{"a block of no length", make([]byte, 12)},
		{"a packet of no interface", whole},
	}

	for _, tt := range tests {
		var out bytes.Buffer
		if _, err := NewNgJoin(&out).Source().Write(tt.blocks); err == nil || out.Len() > 0 {
			t.Errorf("%s: got %v and %d bytes, want an error and none", tt.name, err, out.Len())
		}
	}
}

func FuzzNgJoin(f *testing.F) {
	f.Add(AppendNg(AppendNgInterface(NgHeader(), "a", Ethernet, 0), 0, time.Unix(0, 0), Inbound, []byte("x"), 1))

	f.Fuzz(func(t *testing.T, blocks []byte) {
		var out bytes.Buffer
		if n, err := NewNgJoin(&out).Source().Write(blocks); err == nil && n != len(blocks) || out.Len() > len(blocks) {
			t.Errorf("got %d of %d bytes written, %d out, %v", n, len(blocks), out.Len(), err)
		}
	})
}
