// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

// forNodes makes a call to many nodes, as old clients do.
func forNodes(ctx context.Context, nodes ...string) context.Context {
	for _, node := range nodes {
		ctx = with(ctx, contract.KeyNodes, node)
	}

	return ctx
}

// answer returns who sent a node's part of an answer, or the code and text of its error.
func answer(md *common.Metadata, text string) string {
	if s := md.GetStatus(); s != nil {
		return fmt.Sprintf("%s: %s", codes.Code(s.GetCode()), s.GetMessage()) // a code
	}

	return text
}

// reasonOnly removes the advice, and the list of tried certificates.
func reasonOnly(text string) string {
	text, _, _ = strings.Cut(text, ";")
	text, _, _ = strings.Cut(text, " (")

	return text
}

// startThree starts a node that forwards, two others, and a server that is not a node of the cluster.
func startThree(t *testing.T) (a, b, c *node, client machine.MachineServiceClient) {
	t.Helper()

	ca := newCA(t)
	own := view(t, ca)
	own.Addresses = []netip.Addr{netip.MustParseAddr("10.5.0.2")}
	a, b, c = startNode(t, "a", own), startNode(t, "b", view(t, ca)), startNode(t, "c", view(t, ca))
	startNode(t, "foreign", view(t, newCA(t)))

	return a, b, c, dial(t, a, ca, clientCert(t, ca, "os:reader"))
}

func TestManyUnary(t *testing.T) {
	_, b, c, client := startThree(t)

	c.version = func(context.Context) (*machine.VersionResponse, error) {
		return nil, status.Error(codes.NotFound, "none here")
	}

	r, err := client.Version(forNodes(t.Context(), "10.5.0.2", "b", "c", "nowhere", "foreign", "no/name"), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for _, m := range r.GetMessages() {
		got[m.GetMetadata().GetHostname()] = reasonOnly(answer(m.GetMetadata(), m.GetVersion().GetTag()))

		if m.GetMetadata().GetStatus() != nil && m.GetMetadata().GetError() != m.GetMetadata().GetStatus().GetMessage() {
			t.Errorf("got error %q and status %v, want both the same", m.GetMetadata().GetError(), m.GetMetadata().GetStatus())
		}
	}

	want := map[string]string{
		"10.5.0.2": "a",
		"b":        "b",
		"c":        "NotFound: none here",
		"nowhere":  "Unavailable: node nowhere: connect: dial tcp 127.0.0.1:1: connect: connection refused",
		"foreign":  "Unavailable: node foreign: TLS handshake: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		"no/name":  `InvalidArgument: node "no/name" is neither an address nor a name`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	_, md := b.seen()
	if roles, from := md.Get(contract.KeyRole), md.Get(contract.KeyProxyFrom); !slices.Equal(roles, []string{"os:reader"}) || len(from) != 1 {
		t.Errorf("at the other node: roles %q from %q, want the caller's and the first node", roles, from)
	}

	if len(md.Get(contract.KeyNodes)) > 0 {
		t.Errorf("at the other node: got nodes %q, want none", md.Get(contract.KeyNodes))
	}
}

// TestManyWithADeadNode has a node that accepts connections and is silent: only its kernel is alive, or a firewall answers.
func TestManyWithADeadNode(t *testing.T) {
	_, _, _, client := startThree(t)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	addresses.Store("dead", l.Addr().String())

	start := time.Now()

	r, err := client.Version(forNodes(t.Context(), "a", "b", "dead"), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	// Its connection times out, before the others stop waiting for it.
	if took := time.Since(start); took >= stragglers {
		t.Errorf("it took %s, want about %s", took, dialTimeout)
	}

	got := map[string]string{}
	for _, m := range r.GetMessages() {
		got[m.GetMetadata().GetHostname()] = answer(m.GetMetadata(), m.GetVersion().GetTag())
	}

	if got["a"] != "a" || got["b"] != "b" || !strings.HasPrefix(got["dead"], "Unavailable: node dead: TLS handshake: ") || len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

// TestManyWithAHungNode has a node whose API runs but does not answer.
func TestManyWithAHungNode(t *testing.T) {
	a, b, c, client := startThree(t)
	a.router.stragglers = 300 * time.Millisecond

	began, ended := make(chan struct{}, 2), make(chan error, 2)
	b.version = func(ctx context.Context) (*machine.VersionResponse, error) {
		began <- struct{}{}

		<-ctx.Done()
		ended <- ctx.Err()

		return nil, ctx.Err()
	}

	// The others answer after it has received the request, however slow that is.
	for _, other := range []*node{a, c} {
		other.version = func(context.Context) (*machine.VersionResponse, error) {
			began <- <-began

			return &machine.VersionResponse{Messages: []*machine.Version{{Version: &machine.VersionInfo{Tag: other.name}}}}, nil
		}
	}

	r, err := client.Version(forNodes(t.Context(), "a", "b", "c"), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range r.GetMessages() {
		got := answer(m.GetMetadata(), m.GetVersion().GetTag())
		if m.GetMetadata().GetHostname() != "b" {
			continue
		}

		if want := "DeadlineExceeded: node b: call: no answer after"; !strings.HasPrefix(got, want) {
			t.Errorf("the hung node: got %q, want %q", got, want)
		}
	}

	if len(r.GetMessages()) != 3 {
		t.Errorf("got %v, want three answers", r.GetMessages())
	}

	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the call at the hung node still runs")
	}

	// The caller's end ends all calls.
	<-began

	ctx, cancel := context.WithCancel(forNodes(t.Context(), "b"))
	defer cancel()

	go func() {
		<-began
		cancel()
	}()

	if _, err := client.Version(ctx, &emptypb.Empty{}); status.Code(err) != codes.Canceled {
		t.Errorf("canceled: got %v, want Canceled", err)
	}

	<-ended
}

func TestManyStreams(t *testing.T) {
	_, _, _, client := startThree(t)

	stream, err := client.Logs(forNodes(t.Context(), "10.5.0.2", "b", "c", "nowhere"), &machine.LogsRequest{TailLines: 500})
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]int{}

	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			t.Fatal(err)
		}

		node := m.GetMetadata().GetHostname()
		if node == "nowhere" {
			if want := "Unavailable: node nowhere: connect: "; !strings.HasPrefix(answer(m.GetMetadata(), ""), want) {
				t.Errorf("got %v, want %s", m, want)
			}
		} else if want := fmt.Sprintf("%s %d", map[string]string{"10.5.0.2": "a"}[node]+strings.TrimPrefix(node, "10.5.0.2"), got[node]); string(m.GetBytes()) != want {
			t.Fatalf("of %s: got %q, want %q", node, m.GetBytes(), want)
		}

		got[node]++
	}

	if want := map[string]int{"10.5.0.2": 500, "b": 500, "c": 500, "nowhere": 1}; !maps.Equal(got, want) {
		t.Errorf("frames: got %v, want %v", got, want)
	}

	// A caller that disconnects ends all calls: TestMain finds any that is left.
	ctx, cancel := context.WithCancel(forNodes(t.Context(), "a", "b", "c"))
	defer cancel()

	follow, err := client.Logs(ctx, &machine.LogsRequest{TailLines: 1, Follow: true})
	if err != nil {
		t.Fatal(err)
	}

	for range 3 {
		if _, err := follow.Recv(); err != nil {
			t.Fatal(err)
		}
	}

	cancel()

	if _, err := follow.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("after the caller left: got %v, want Canceled", err)
	}
}

func TestManyUploads(t *testing.T) {
	_, _, _, client := startThree(t)

	stream, err := client.EtcdRecover(forNodes(t.Context(), "a", "b", "nowhere"))
	if err != nil {
		t.Fatal(err)
	}

	for range 100 {
		if err := stream.Send(&common.Data{Bytes: make([]byte, 10_000)}); err != nil {
			t.Fatal(err)
		}
	}

	r, err := stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for _, m := range r.GetMessages() {
		got[m.GetMetadata().GetHostname()] = m.GetMetadata().GetError()
	}

	if got["a"] != "1000000" || got["b"] != "1000000" || len(got) != 3 {
		t.Errorf("got %v, want a million bytes at each", got)
	}
}

// TestManyTooLarge has answers that fit alone, but not together.
func TestManyTooLarge(t *testing.T) {
	a, b, c, client := startThree(t)
	for _, n := range []*node{a, b, c} {
		n.version = func(context.Context) (*machine.VersionResponse, error) {
			return &machine.VersionResponse{Messages: []*machine.Version{{Version: &machine.VersionInfo{Tag: strings.Repeat("x", 12<<20)}}}}, nil
		}
	}

	r, err := client.Version(forNodes(t.Context(), "a", "b", "c"), &emptypb.Empty{}, grpc.MaxCallRecvMsgSize(contract.MaxMessage))
	if err != nil {
		t.Fatal(err)
	}

	whole, refused := 0, 0

	for _, m := range r.GetMessages() {
		switch {
		case len(m.GetVersion().GetTag()) == 12<<20:
			whole++
		case m.GetMetadata().GetStatus().GetCode() == int32(codes.ResourceExhausted):
			refused++
		}
	}

	if whole != 2 || refused != 1 {
		t.Errorf("got %d complete answers and %d refusals, want 2 and 1", whole, refused)
	}
}

// TestManyWithADamagedNode has a node that sends bytes which are not a message.
func TestManyWithADamagedNode(t *testing.T) {
	ca := newCA(t)
	garbage := grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		return s.SendMsg(&frame{data: mem.BufferSlice{mem.SliceBuffer("\x0a\xff\xff\xff\xff\x0f")}})
	}))

	l, err := net.Listen("unix", t.TempDir()+"/machine.sock")
	if err != nil {
		t.Fatal(err)
	}

	done := make(chan error, 1)

	go func() { done <- garbage.Serve(l) }()

	defer func() {
		garbage.Stop()
		<-done
	}()

	front := startNode(t, "damaged", view(t, ca))
	front.router.backends.socket = l.Addr().String()
	startNode(t, "fine", view(t, ca))

	client := dial(t, front, ca, clientCert(t, ca, "os:admin"))

	r, err := client.Version(forNodes(t.Context(), "127.0.0.1", "fine"), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range r.GetMessages() {
		got := answer(m.GetMetadata(), m.GetVersion().GetTag())
		if want := map[string]string{"127.0.0.1": "Internal: the node's answer is damaged: ", "fine": "fine"}[m.GetMetadata().GetHostname()]; !strings.HasPrefix(got, want) || want == "" {
			t.Errorf("%s: got %q, want %q", m.GetMetadata().GetHostname(), got, want)
		}
	}

	stream, err := client.Logs(forNodes(t.Context(), "127.0.0.1", "fine"), &machine.LogsRequest{TailLines: 2})
	if err != nil {
		t.Fatal(err)
	}

	frames := map[string]int{}

	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			t.Fatal(err)
		}

		frames[fmt.Sprint(m.GetMetadata().GetHostname(), m.GetMetadata().GetStatus().GetCode())]++
	}

	if want := map[string]int{"127.0.0.113": 1, "fine0": 2}; !maps.Equal(frames, want) {
		t.Errorf("got frames %v, want %v", frames, want)
	}
}
