// SPDX-License-Identifier: Apache-2.0

package pcap_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/seed-59268b81/talos/sys/pcap"
)

// TestNg reads a file with another implementation.
func TestNg(t *testing.T) {
	at := time.Unix(0x65_00_00_01, 123_456_789)
	file := pcap.NgHeader()
	file = pcap.AppendNgInterface(file, "worker-1", pcap.Ethernet, 96)
	file = pcap.AppendNg(file, 0, at, pcap.Inbound, []byte("one"), 1500)
	file = pcap.AppendNgInterface(file, "gateway", pcap.Ethernet, 96)
	file = pcap.AppendNg(file, 1, at.Add(1), pcap.Outbound, []byte("four"), 4)
	file = pcap.AppendNg(file, 0, at.Add(2), pcap.Unknown, nil, 0)

	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{ErrorOnMismatchingLinkType: true})
	if err != nil {
		t.Fatal(err)
	}

	type packet struct {
		Link, Data string
		At         time.Time
		Length     int
	}

	var got []packet

	for range 3 {
		data, info, err := r.ReadPacketData()
		if err != nil {
			t.Fatal(err)
		}

		link, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}

		got = append(got, packet{link.Name, string(data), info.Timestamp, info.Length})
	}

	want := []packet{{"worker-1", "one", at, 1500}, {"gateway", "four", at.Add(1), 4}, {"worker-1", "", at.Add(2), 0}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("packets (-want +got):\n%s", d)
	}
}
