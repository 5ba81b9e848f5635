// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

func TestRouting(t *testing.T) {
	ca := newCA(t)

	own := view(t, ca)
	own.Addresses = []netip.Addr{netip.MustParseAddr("10.5.0.2"), netip.MustParseAddr("fd00::2")}
	own.Hostnames = []string{"cp-1", "cp-1.example.org"}
	a, b := startNode(t, "a", own), startNode(t, "b", view(t, ca))

	worker := *own
	worker.Client = nil
	w := startNode(t, "w", &worker)

	maintenance := *own
	maintenance.Client, maintenance.CAs, maintenance.Open, maintenance.NoRouting = nil, nil, true, true
	m := startNode(t, "m", &maintenance)

	for _, tt := range []struct {
		name string
		node *node
		md   []string
		want string // the backend that answers, or a code
	}{
		{"no node named", a, nil, "a"},
		{"own address", a, []string{"node", "10.5.0.2"}, "a"},
		{"own address, IPv6", a, []string{"node", "fd00::2"}, "a"},
		{"own address, in brackets", a, []string{"node", "[fd00::2]"}, "a"},
		{"own address, mapped", a, []string{"node", "::ffff:10.5.0.2"}, "a"},
		{"loopback", a, []string{"node", "127.0.0.1"}, "a"},
		{"own name", a, []string{"node", "cp-1"}, "a"},
		{"own name, other case", a, []string{"node", "CP-1.example.org"}, "a"},
		{"old clients' key", a, []string{"nodes", "cp-1"}, "a"},
		{"another node", a, []string{"node", b.name}, "b"},
		{"another node by the old key", a, []string{"nodes", b.name}, "b"},
		{"two nodes", a, []string{"node", "cp-1", "node", b.name}, "InvalidArgument"},
		{"both keys: the old one wins", a, []string{"node", "cp-1", "nodes", b.name}, "b"},
		{"another port", a, []string{"node", "10.5.0.3:22"}, "InvalidArgument"},
		{"no name", a, []string{"node", "b/c"}, "InvalidArgument"},
		{"nothing", a, []string{"node", ""}, "InvalidArgument"},
		{"a node out of reach", a, []string{"node", "nowhere"}, "Unavailable"},
		{"forwarded already", a, []string{"node", b.name, "proxyfrom", "x"}, "a"},

		{"worker itself", w, []string{"node", "10.5.0.2"}, "w"},
		{"worker itself by the old key", w, []string{"nodes", "10.5.0.2"}, "w"},
		{"worker to another", w, []string{"node", b.name}, "PermissionDenied"},
		{"worker to another by the old key", w, []string{"nodes", b.name}, "PermissionDenied"},
		{"worker to several", w, []string{"nodes", "10.5.0.2", "nodes", b.name}, "PermissionDenied"},
		{"maintenance itself", m, nil, "m"},
		{"maintenance by its address", m, []string{"node", "10.5.0.2"}, "m"},
		{"maintenance to another", m, []string{"node", b.name}, "FailedPrecondition"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := dial(t, tt.node, ca, clientCert(t, ca, "os:admin"))

			r, err := client.Version(with(t.Context(), tt.md...), &emptypb.Empty{})
			if got := tag(r, err); got != tt.want {
				t.Errorf("got %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

// TestForwarded checks the metadata that the second node gets: the roles of the first one's caller, the address that it came from, and
// nothing that would forward it again.
func TestForwarded(t *testing.T) {
	ca := newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))
	client := dial(t, a, ca, clientCert(t, ca, "os:reader"))

	var header, trailer metadata.MD

	ctx := with(t.Context(), "node", b.name, contract.KeyRole, "os:admin", contract.KeyPeer, "192.0.2.1", "custom", "kept")
	if got := tag(client.Version(ctx, &emptypb.Empty{}, grpc.Header(&header), grpc.Trailer(&trailer))); got != "b" {
		t.Fatalf("got %s, want b", got)
	}

	_, md := b.seen()
	for key, want := range map[string][]string{
		contract.KeyRole: {"os:reader"}, contract.KeyProxyFrom: {a.addr}, contract.KeyPeer: {"127.0.0.1"}, contract.KeyNode: nil, contract.KeyNodes: nil, "custom": {"kept"},
	} {
		if got := md.Get(key); !slices.Equal(got, want) {
			t.Errorf("metadata %s at the second node: got %q, want %q", key, got, want)
		}
	}

	if header.Get("backend-header")[0] != "b" || trailer.Get("backend-trailer")[0] != "b" {
		t.Errorf("got header %v and trailer %v, want those of the backend", header, trailer)
	}

	_, err := client.Reboot(with(t.Context(), "node", b.name), &machine.RebootRequest{})
	if s := status.Convert(err); s.Code() != codes.FailedPrecondition || s.Message() != "no" {
		t.Errorf("the backend's refusal: got %v, want it unchanged", err)
	}

	if _, err := client.Hostname(t.Context(), &emptypb.Empty{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a call that the backend does not have: got %v, want Unimplemented", err)
	}
}

func TestBigMessages(t *testing.T) {
	ca := newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))
	client := dial(t, a, ca, clientCert(t, ca, "os:admin"))
	ctx := with(t.Context(), "node", b.name)

	r, err := client.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: make([]byte, contract.MaxMessage-64)})
	if err != nil || r.GetMessages()[0].GetModeDetails() != "33554368" {
		t.Errorf("the largest message: got %v, %v, want it to arrive", r, err)
	}

	big := &machine.ApplyConfigurationRequest{Data: make([]byte, contract.MaxMessage)}
	if _, err := client.ApplyConfiguration(ctx, big, grpc.MaxCallSendMsgSize(2*contract.MaxMessage)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a larger one: got %v, want ResourceExhausted", status.Code(err))
	}
}

func TestStreams(t *testing.T) {
	ca := newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))
	client := dial(t, a, ca, clientCert(t, ca, "os:admin"))

	for _, tt := range []struct{ node, want string }{{"127.0.0.1", "a"}, {b.name, "b"}} {
		ctx, cancel := context.WithCancel(with(t.Context(), "node", tt.node))

		stream, err := client.Logs(ctx, &machine.LogsRequest{TailLines: 1000})
		if err != nil {
			t.Fatal(err)
		}

		for i := 0; ; i++ {
			data, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				if i != 1000 {
					t.Errorf("got %d chunks, want 1000", i)
				}

				break
			}

			if err != nil {
				t.Fatal(err)
			}

			if !strings.HasPrefix(string(data.GetBytes()), tt.want+" ") {
				t.Fatalf("got chunk %q, want one of %s", data.GetBytes(), tt.want)
			}
		}

		// A caller that disconnects ends the call at the backend too: TestMain finds one that is left.
		follow, err := client.Logs(ctx, &machine.LogsRequest{TailLines: 1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := follow.Recv(); err != nil {
			t.Fatal(err)
		}

		cancel()

		if _, err := follow.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("after the caller left: got %v, want Canceled", err)
		}
	}
}

// TestAuthorityIsReplaced replaces the authority of two nodes while a stream runs through one to the other. The stream ends, and its
// connection carries no new calls.
func TestAuthorityIsReplaced(t *testing.T) {
	ca, next := newCA(t), newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))

	old := dial(t, a, ca, clientCert(t, ca, "os:admin"))
	stream := follow(t, old, "node", b.name)

	a.router.SetView(view(t, next))
	b.router.SetView(view(t, next))

	stream.ends(t, codes.Unauthenticated, "no longer accepted")

	if got := tag(old.Version(t.Context(), &emptypb.Empty{})); got != "Unauthenticated" {
		t.Errorf("a new call on the old connection: got %s, want Unauthenticated", got)
	}

	if got := tag(dial(t, a, next, clientCert(t, next, "os:admin")).Version(with(t.Context(), "node", b.name), &emptypb.Empty{})); got != "b" {
		t.Errorf("a new client, with the new certificates through to the other node: got %s, want b", got)
	}

	if got := tag(dial(t, a, next, clientCert(t, ca, "os:admin")).Version(t.Context(), &emptypb.Empty{})); got != "Unavailable" {
		t.Errorf("a new connection with the old certificate: got %s, want it refused", got)
	}
}

// TestCertificateIsRenewed: a node gets other certificates of the same authority, without effect on calls.
func TestCertificateIsRenewed(t *testing.T) {
	ca := newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))
	client := dial(t, a, ca, clientCert(t, ca, "os:admin"))

	stream, err := client.Logs(with(t.Context(), "node", b.name), &machine.LogsRequest{TailLines: 200_000})
	if err != nil {
		t.Fatal(err)
	}

	for i := range 200_000 {
		if i%50_000 == 10 {
			a.router.SetView(view(t, ca))
			b.router.SetView(view(t, ca))

			for _, node := range []string{"127.0.0.1", b.name} {
				if _, err := client.Version(with(t.Context(), "node", node), &emptypb.Empty{}); err != nil {
					t.Errorf("a call while certificates change: %v", err)
				}
			}
		}

		m, err := stream.Recv()
		if err != nil {
			t.Fatalf("after %d events: %v", i, err)
		}

		if want := fmt.Sprintf("b %d", i); string(m.GetBytes()) != want {
			t.Fatalf("got event %s, want %s", m.GetBytes(), want)
		}
	}
}

// TestMachinedRestarts stops the backend and starts it again.
func TestMachinedRestarts(t *testing.T) {
	ca := newCA(t)
	n := &node{backend: &backend{name: "a"}, socket: t.TempDir() + "/machine.sock"}
	front := startNode(t, "front", view(t, ca))
	front.router.backends.socket = n.socket
	client := dial(t, front, ca, clientCert(t, ca, "os:admin"))

	if got := tag(client.Version(t.Context(), &emptypb.Empty{})); got != "Unavailable" {
		t.Errorf("without machined: got %s, want Unavailable", got)
	}

	serveBackend(t, n)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	if got := tag(client.Version(ctx, &emptypb.Empty{}, grpc.WaitForReady(true))); got != "a" {
		for got != "a" && ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)

			got = tag(client.Version(ctx, &emptypb.Empty{}))
		}

		if got != "a" {
			t.Errorf("with machined: got %s, want a", got)
		}
	}
}
