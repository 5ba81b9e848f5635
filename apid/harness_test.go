// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) {
	if socket := os.Getenv(childSocket); socket != "" {
		child(socket)
	}

	// The tests have nodes and clients in one process. Tests with a child measure apid alone.
	heapBytes = func() uint64 { return 0 }

	leak.Main(m)
}

// backend takes the place of machined. Its answers have its name and the metadata of the call.
type backend struct {
	machine.UnimplementedMachineServiceServer

	name string
	// version, if set, is the answer to Version.
	version func(context.Context) (*machine.VersionResponse, error)

	mu    sync.Mutex
	calls int
	last  metadata.MD
}

func (b *backend) note(ctx context.Context) {
	md, _ := metadata.FromIncomingContext(ctx)

	b.mu.Lock()
	defer b.mu.Unlock()

	b.calls++
	b.last = md
}

func (b *backend) seen() (int, metadata.MD) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.calls, b.last
}

func (b *backend) Version(ctx context.Context, _ *emptypb.Empty) (*machine.VersionResponse, error) {
	b.note(ctx)

	if b.version != nil {
		return b.version(ctx)
	}

	_ = grpc.SetHeader(ctx, metadata.Pairs("backend-header", b.name))
	_ = grpc.SetTrailer(ctx, metadata.Pairs("backend-trailer", b.name))

	return &machine.VersionResponse{Messages: []*machine.Version{{Version: &machine.VersionInfo{Tag: b.name}}}}, nil
}

func (b *backend) ApplyConfiguration(ctx context.Context, req *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	b.note(ctx)

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{{ModeDetails: fmt.Sprint(len(req.GetData()))}}}, nil
}

func (b *backend) Reboot(ctx context.Context, _ *machine.RebootRequest) (*machine.RebootResponse, error) {
	b.note(ctx)

	return nil, status.Error(codes.FailedPrecondition, "no")
}

// EtcdRecover counts the bytes that it receives.
func (b *backend) EtcdRecover(stream grpc.ClientStreamingServer[common.Data, machine.EtcdRecoverResponse]) error {
	b.note(stream.Context())

	got := 0

	for {
		data, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&machine.EtcdRecoverResponse{Messages: []*machine.EtcdRecover{{Metadata: &common.Metadata{Error: fmt.Sprint(got)}}}})
		}

		if err != nil {
			return err
		}

		got += len(data.GetBytes())
	}
}

// LogsContainers returns an answer of 4 MiB.
func (b *backend) LogsContainers(context.Context, *emptypb.Empty) (*machine.LogsContainersResponse, error) {
	return &machine.LogsContainersResponse{Messages: []*machine.LogsContainer{{Ids: []string{strings.Repeat("x", 4<<20)}}}}, nil
}

// DiskUsage sends names of 64 KiB until the stream fails.
func (b *backend) DiskUsage(_ *machine.DiskUsageRequest, stream grpc.ServerStreamingServer[machine.DiskUsageInfo]) error {
	b.note(stream.Context())

	name := strings.Repeat("x", 64<<10)

	for {
		if err := stream.Send(&machine.DiskUsageInfo{Name: name}); err != nil {
			return err
		}
	}
}

// Logs sends as many chunks as the request has lines, and with follow another one until the caller ends.
func (b *backend) Logs(req *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	b.note(stream.Context())

	for i := range req.GetTailLines() {
		if err := stream.Send(&common.Data{Bytes: fmt.Appendf(nil, "%s %d", b.name, i)}); err != nil {
			return err
		}
	}

	if !req.GetFollow() {
		return nil
	}

	<-stream.Context().Done()

	return stream.Context().Err()
}

// node is a machine: a backend on its socket and a router in front of it.
type node struct {
	*backend

	addr   string
	socket string
	router *Router
}

// addresses of the nodes of a test, by name. Nodes are called by name, as they all have one IP address.
var addresses sync.Map

func addressOfNode(name string) string {
	if addr, ok := addresses.Load(name); ok {
		return addr.(string) // as stored
	}

	return "127.0.0.1:1" // nothing listens there
}

// newCA returns an authority like that of a machine configuration.
func newCA(t testing.TB) *pki.CA {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	return ca
}

func pair(t testing.TB, ca *pki.CA, opts pki.LeafOptions) *tls.Certificate {
	t.Helper()

	if opts.TTL == 0 {
		opts.TTL = time.Hour
	}

	p, err := ca.Sign(opts)
	if err != nil {
		t.Fatal(err)
	}

	cert, err := p.TLS()
	if err != nil {
		t.Fatal(err)
	}

	return &cert
}

func clientCert(t testing.TB, ca *pki.CA, roles ...string) *tls.Certificate {
	t.Helper()

	return pair(t, ca, pki.LeafOptions{Organization: roles, Client: true})
}

// view returns the view of a control plane node.
func view(t testing.TB, ca *pki.CA) *View {
	t.Helper()

	pool, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	return &View{
		Server: pair(t, ca, pki.LeafOptions{CommonName: "node", IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Server: true}),
		Client: clientCert(t, ca, contract.RoleImpersonator),
		CAs:    pool,
	}
}

// startNode starts a machine whose router has the view v.
func startNode(t testing.TB, name string, v *View) *node {
	t.Helper()

	n := &node{backend: &backend{name: name}, socket: filepath.Join(t.TempDir(), "machine.sock")}

	serveBackend(t, n)

	n.router = NewRouter(slog.New(slog.DiscardHandler), n.socket)
	if v != nil {
		n.router.SetView(v)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	n.addr = l.Addr().String()
	server := n.router.Server()
	done := make(chan error, 1)

	addresses.Store(name, n.addr)
	n.router.backends.address = addressOfNode

	go func() { done <- server.Serve(newListener(l, n.router.pressure)) }()

	t.Cleanup(func() {
		server.Stop()
		n.router.Close()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	return n
}

func serveBackend(t testing.TB, n *node) {
	t.Helper()

	l, err := net.Listen("unix", n.socket)
	if err != nil {
		t.Fatal(err)
	}

	g := grpc.NewServer(grpc.MaxRecvMsgSize(contract.MaxMessage))
	machine.RegisterMachineServiceServer(g, n.backend)

	done := make(chan error, 1)

	go func() { done <- g.Serve(l) }()

	t.Cleanup(func() {
		g.Stop()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// dial connects to a node with a client certificate (none if nil), trusting the authority.
func dial(t testing.TB, n *node, ca *pki.CA, cert *tls.Certificate) machine.MachineServiceClient {
	t.Helper()

	pool, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}

	conn, err := grpc.NewClient("passthrough:///"+n.addr, grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(contract.MaxMessage)))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	return machine.NewMachineServiceClient(conn)
}

// with adds metadata to a call.
func with(ctx context.Context, keysAndValues ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, keysAndValues...)
}

// tag returns the name of the backend that served a call, or the code of the error.
func tag(r *machine.VersionResponse, err error) string {
	if err != nil {
		return status.Code(err).String()
	}

	return r.GetMessages()[0].GetVersion().GetTag()
}
