// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pcap_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jsimonetti/rtnetlink/v2"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/pcap"
)

func TestFormat(t *testing.T) {
	file := pcap.Append(pcap.Header(pcap.Raw, 96), time.Unix(0x65_00_00_01, 7).UTC(), []byte{0x45, 0}, 1500)
	want := "4d3cb2a1" + "0200" + "0400" + "0000000000000000" + "60000000" + "65000000" +
		"01000065" + "07000000" + "02000000" + "dc050000" + "4500"

	if got := hex.EncodeToString(file); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	// The usual tool can read it.
	cmd := exec.CommandContext(t.Context(), hosttest.Need(t, "tcpdump"), "-r", "-", "-n")
	cmd.Stdin = bytes.NewReader(file)

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tcpdump: %v\n%s", err, out)
	}
}

// packet of a capture file.
type packet struct {
	at     time.Time
	length int
	data   []byte
}

// packets reads a file without its header.
func packets(t *testing.T, file []byte) []packet {
	t.Helper()

	var out []packet

	for le := binary.LittleEndian; len(file) > 0; {
		kept := int(le.Uint32(file[8:]))
		out = append(out, packet{time.Unix(int64(le.Uint32(file)), int64(le.Uint32(file[4:]))), int(le.Uint32(file[12:])), file[16 : 16+kept]})
		file = file[16+kept:]
	}

	return out
}

func setUp(t *testing.T, name string) *net.Interface {
	t.Helper()

	c, err := rtnetlink.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	link, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}

	if err := c.Link.Set(&rtnetlink.LinkMessage{Index: uint32(link.Index), Flags: unix.IFF_UP, Change: unix.IFF_UP}); err != nil {
		t.Fatal(err)
	}

	return link
}

func send(t *testing.T, to, text string) {
	t.Helper()

	conn, err := net.Dial("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestRealCapture(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	setUp(t, "lo")

	// UDP to port 7000: on the loopback IPv4 needs no more checks.
	filter, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 36, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 7000, SkipFalse: 1},
		bpf.RetConstant{Val: 1 << 18},
		bpf.RetConstant{Val: 0},
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	var file []byte

	before := time.Now()

	err = pcap.Capture{Link: "lo", Promiscuous: true, SnapLen: 60, Filter: filter}.Run(ctx, func(b []byte) error {
		if len(file) == 0 {
			// The header comes before any packet.
			send(t, "127.0.0.1:7001", "not this")
			send(t, "127.0.0.1:7000", strings.Repeat("this", 100))
			send(t, "127.0.0.1:7000", "that")
		}

		file = append(file, b...)

		// On the loopback each packet is captured twice: outbound and inbound.
		if len(packets(t, file[24:])) >= 4 {
			cancel()
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	got := packets(t, file[24:])
	if len(got) != 4 {
		t.Fatalf("got %d packets, want 4", len(got))
	}

	for i, want := range []struct {
		length int
		text   string
	}{{14 + 28 + 400, "thisthisthisthisth"}, {14 + 28 + 400, "thisthisthisthisth"}, {14 + 28 + 4, "that"}, {14 + 28 + 4, "that"}} {
		p := got[i]
		if p.length != want.length || len(p.data) != min(60, want.length) || !bytes.HasSuffix(p.data, []byte(want.text)) ||
			p.at.Before(before.Add(-time.Second)) || p.at.After(time.Now()) {
			t.Errorf("packet %d: got %+v, want %d bytes that end in %q", i, p, want.length, want.text)
		}
	}
}

func TestCaptureErrors(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	setUp(t, "lo")

	stop := errors.New("the reader has ended")

	for _, tt := range []struct {
		name    string
		capture pcap.Capture
		want    error
		text    string
	}{
		{"no such link", pcap.Capture{Link: "eth7"}, pcap.ErrInvalid, `"eth7"`},
		{"no link", pcap.Capture{}, pcap.ErrInvalid, ""},
		{"too much of a packet", pcap.Capture{Link: "lo", SnapLen: 1 << 31}, pcap.ErrInvalid, "at most 262144"},
		{"no filter", pcap.Capture{Link: "lo", Filter: []bpf.RawInstruction{{Op: 0xffff}}}, pcap.ErrInvalid, "refuses the filter"},
		{"a filter without end", pcap.Capture{Link: "lo", Filter: make([]bpf.RawInstruction, 5000)}, pcap.ErrInvalid, "refuses the filter"},
		{"no reader", pcap.Capture{Link: "lo"}, stop, "capture on lo"},
	} {
		err := tt.capture.Run(t.Context(), func([]byte) error { return stop })
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
	}
}

// A link without Ethernet, and one that is removed during the capture.
func TestCaptureTunnel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	ip := hosttest.Need(t, "ip")

	if out, err := exec.CommandContext(t.Context(), ip, "tuntap", "add", "dev", "tun7", "mode", "tun").CombinedOutput(); err != nil {
		t.Skipf("no tunnel device: %v: %s", err, out)
	}

	setUp(t, "tun7")

	var file []byte

	err := pcap.Capture{Link: "tun7"}.Run(t.Context(), func(b []byte) error {
		file = b

		out, err := exec.CommandContext(t.Context(), ip, "link", "delete", "tun7").CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}

		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "the link was removed") {
		t.Errorf("got %v, want the link to be removed", err)
	}

	if kind := binary.LittleEndian.Uint32(file[20:]); kind != uint32(pcap.Raw) {
		t.Errorf("link type: got %d, want %d", kind, pcap.Raw)
	}
}
