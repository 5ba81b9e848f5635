// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jsimonetti/rtnetlink/v2"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// loopbackUp brings up loopback in the caller's network namespace.
func loopbackUp(t *testing.T) {
	t.Helper()

	c, err := rtnetlink.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if err := c.Link.Set(&rtnetlink.LinkMessage{Index: 1, Flags: unix.IFF_UP, Change: unix.IFF_UP}); err != nil {
		t.Fatal(err)
	}
}

// pod creates a network namespace with a listener, as a container runtime does.
func pod(t *testing.T, root, name string, port int) {
	t.Helper()

	n := nstest.NewNetwork(t)

	var err error

	n.Do(func() {
		var l net.Listener
		if l, err = net.Listen("tcp4", fmt.Sprintf(":%d", port)); err == nil {
			t.Cleanup(func() { l.Close() })

			err = os.Symlink(fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid()), root+"/run/netns/"+name)
		}
	})

	if err != nil {
		t.Fatal(err)
	}
}

func TestNetstat(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	loopbackUp(t)

	b := newBench(t)
	b.Root = t.TempDir()

	if err := errors.Join(os.MkdirAll(b.Root+"/run/netns", 0o755), os.Symlink("/proc", b.Root+"/proc")); err != nil {
		t.Fatal(err)
	}

	tcp, err := net.Listen("tcp4", "127.0.0.1:7000")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()

	client, err := net.Dial("tcp4", "127.0.0.1:7000")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	udp, err := net.ListenPacket("udp6", "[::1]:7001")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()

	pod(t, b.Root, "cni-1", 8001)
	pod(t, b.Root, "cni-2", 8002)

	// A namespace that is removed after it was listed.
	if err := os.Symlink("/proc/1/ns/nothing", b.Root+"/run/netns/cni-3"); err != nil {
		t.Fatal(err)
	}

	local := client.LocalAddr().String()
	here := []string{"tcp 127.0.0.1:7000 LISTEN", "tcp 127.0.0.1:7000 ESTABLISHED", "tcp " + local + " ESTABLISHED", "udp6 ::1:7001 CLOSE"}

	for _, tt := range []struct {
		name string
		req  *machine.NetstatRequest
		want []string
	}{
		{"the host's", &machine.NetstatRequest{}, here},
		{"listening sockets", &machine.NetstatRequest{Filter: machine.NetstatRequest_LISTENING}, []string{here[0], here[3]}},
		{"connected sockets", &machine.NetstatRequest{Filter: machine.NetstatRequest_CONNECTED}, here[1:3]},
		{"one protocol", &machine.NetstatRequest{L4Proto: &machine.NetstatRequest_L4Proto{Udp6: true}}, here[3:]},
		{"a protocol without sockets", &machine.NetstatRequest{L4Proto: &machine.NetstatRequest_L4Proto{Raw: true, Udplite6: true}}, nil},
		{"a pod's", &machine.NetstatRequest{Netns: &machine.NetstatRequest_NetNS{Netns: []string{"cni-2"}}}, []string{"tcp 0.0.0.0:8002 LISTEN cni-2"}},
		{"a pod's and the host's", &machine.NetstatRequest{
			Filter: machine.NetstatRequest_LISTENING, Netns: &machine.NetstatRequest_NetNS{Hostnetwork: true, Netns: []string{"cni-1"}},
		}, []string{here[0], here[3], "tcp 0.0.0.0:8001 LISTEN cni-1"}},
		{"all", &machine.NetstatRequest{
			L4Proto: &machine.NetstatRequest_L4Proto{Tcp: true}, Netns: &machine.NetstatRequest_NetNS{Allnetns: true},
		}, append(slices.Clone(here[:3]), "tcp 0.0.0.0:8001 LISTEN cni-1", "tcp 0.0.0.0:8002 LISTEN cni-2")},
	} {
		r, err := b.machine.Netstat(as(t.Context(), contract.RoleReader), tt.req)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)

			continue
		}

		var got []string

		for _, c := range r.GetMessages()[0].GetConnectrecord() {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s:%d %s %s", c.GetL4Proto(), c.GetLocalip(), c.GetLocalport(), c.GetState(), c.GetNetns())))

			if c.GetProcess() != nil {
				t.Errorf("%s: got a process without a lookup: %v", tt.name, c)
			}
		}

		slices.Sort(got)

		if d := cmp.Diff(slices.Sorted(slices.Values(tt.want)), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}

	r, err := b.machine.Netstat(as(t.Context(), contract.RoleReader), &machine.NetstatRequest{Feature: &machine.NetstatRequest_Feature{Pid: true}})
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range r.GetMessages()[0].GetConnectrecord() {
		// The connection is not accepted yet.
		accepted := c.GetLocalport() != 7000 || c.GetState() == machine.ConnectRecord_LISTEN
		if p := c.GetProcess(); accepted && (p.GetPid() != uint32(os.Getpid()) || p.GetName() != "server.test") {
			t.Errorf("got %v, want this process", c)
		}
	}
}

func TestNetstatErrors(t *testing.T) {
	b := newBench(t)
	b.Root = t.TempDir()

	if err := errors.Join(os.MkdirAll(b.Root+"/run/netns", 0o755), os.Symlink("/proc", b.Root+"/proc"), os.WriteFile(b.Root+"/run/netns/file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]codes.Code{
		"cni-9": codes.NotFound, "../netns/file": codes.InvalidArgument, "/proc/1/ns/net": codes.InvalidArgument, "": codes.InvalidArgument,
		"file": codes.Internal,
	} {
		_, err := b.machine.Netstat(as(t.Context(), contract.RoleReader), &machine.NetstatRequest{Netns: &machine.NetstatRequest_NetNS{Netns: []string{name}}})
		if status.Code(err) != want || !strings.Contains(err.Error(), "netstat") {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
}

func TestPacketCapture(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	loopbackUp(t)

	b := newBench(t)

	ctx, cancel := context.WithCancel(as(t.Context(), contract.RoleOperator))
	defer cancel()

	stream, err := b.machine.PacketCapture(ctx, &machine.PacketCaptureRequest{Interface: "lo", BpfFilter: []*machine.BPFInstruction{{Op: 6, K: 1 << 16}}})
	if err != nil {
		t.Fatal(err)
	}

	var file []byte

	for !strings.Contains(string(file), "a packet") {
		data, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}

		if file = append(file, data.GetBytes()...); len(file) == 24 {
			conn, err := net.Dial("udp", "127.0.0.1:7000")
			if err != nil {
				t.Fatal(err)
			}

			if _, err := conn.Write([]byte("a packet")); err != nil {
				t.Fatal(err)
			}

			conn.Close()
		}
	}

	cancel()

	if _, err = text(t, stream, nil); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: got %v", err)
	}

	ctx, cancel = context.WithCancel(as(t.Context(), contract.RoleOperator))
	defer cancel()

	// No capture runs any more.
	eventually(t, "the capture's socket to be closed", func() bool {
		table, err := os.ReadFile("/proc/self/net/packet")

		return err == nil && strings.Count(string(table), "\n") == 1 && len(captures) == 0
	})

	// The number of captures is limited, and the end of one makes room.
	for range cap(captures) {
		stream, err := b.machine.PacketCapture(ctx, &machine.PacketCaptureRequest{Interface: "lo"})
		first(t, stream, err)
	}

	stream, err = b.machine.PacketCapture(ctx, &machine.PacketCaptureRequest{Interface: "lo"})
	if _, err = text(t, stream, err); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one too many: got %v", err)
	}

	cancel()

	eventually(t, "the captures to end", func() bool { return len(captures) == 0 })

	for _, req := range []*machine.PacketCaptureRequest{
		{Interface: "eth7"}, {}, {Interface: "lo", SnapLen: 1 << 30},
		{Interface: "lo", BpfFilter: []*machine.BPFInstruction{{Op: 1 << 16}}}, {Interface: "lo", BpfFilter: []*machine.BPFInstruction{{Jt: 256}}},
		{Interface: "lo", BpfFilter: []*machine.BPFInstruction{{Op: 0x7fff}}},
	} {
		stream, err := b.machine.PacketCapture(as(t.Context(), contract.RoleOperator), req)
		if _, err = text(t, stream, err); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: got %v", req, err)
		}
	}
}
