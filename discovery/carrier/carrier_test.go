// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var (
	secret = bytes.Repeat([]byte{1}, seal.KeySize)
	other  = bytes.Repeat([]byte{2}, seal.KeySize)
)

// bench is a running discoveryd.
type bench struct {
	*testing.T

	carrier *Carrier
	address string
	roots   *x509.CertPool
}

// start runs discoveryd as its process does, with a state of the test in place of process 1.
func start(t *testing.T) *bench {
	t.Helper()

	if err := secrets.Register(); err != nil {
		t.Fatal(err)
	}

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "cp-1", IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	b := &bench{T: t, carrier: New(slog.New(slog.DiscardHandler)), address: listener.Addr().String(), roots: x509.NewCertPool()}
	b.roots.AddCert(ca.Certificate)

	st := memory.New()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- serve(ctx, b.carrier, st, listener) }()

	t.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	// Without a certificate there is no connection.
	conn, err := (&tls.Dialer{Config: b.tls()}).DialContext(t.Context(), "tcp", b.address)
	if err == nil {
		conn.Close()
		t.Error("discoveryd serves without a certificate")
	}

	spec := secrets.DiscoverydSpec{ClusterID: "cluster", ProofKey: seal.ProofKey(secret)}
	spec.Server.Crt, spec.Server.Key = pair.Crt, pair.Key

	if err := typed.Set(ctx, st, "", secrets.DiscoverydID, spec); err != nil {
		t.Fatal(err)
	}

	for b.carrier.view.Load() == nil {
		if t.Context().Err() != nil {
			t.Fatal("discoveryd has no view")
		}

		time.Sleep(time.Millisecond)
	}

	return b
}

func (b *bench) tls() *tls.Config {
	return &tls.Config{RootCAs: b.roots, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}}
}

// session runs a client of ours.
func (b *bench) session(id string, key []byte) *client.Session {
	b.Helper()

	s := client.New(client.Options{
		Name: "carrier", Endpoint: b.address, TLS: b.tls, ClusterID: "cluster", AffiliateID: id, Key: key, Prove: true,
	}, slog.New(slog.DiscardHandler))

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- s.Run(ctx) }()

	b.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			b.Error(err)
		}
	})

	s.Publish(&client.Local{Affiliate: &clientapi.Affiliate{NodeId: id}})
	s.SetWatch(true)

	return s
}

func (b *bench) await(s *client.Session, what string, ok func(*client.View) bool) *client.View {
	b.Helper()

	timeout := time.After(time.Minute)

	for {
		if v := s.View(); ok(v) {
			return v
		}

		select {
		case <-s.Changed():
		case <-timeout:
			b.Fatalf("still waiting for %s, with %+v", what, s.View())
		}
	}
}

func TestCarrier(t *testing.T) {
	b := start(t)

	one, two, stranger := b.session("one", secret), b.session("two", secret), b.session("stranger", other)

	b.await(one, "the other machine", func(v *client.View) bool { return v.Complete && len(v.Affiliates) == 1 })
	b.await(two, "the other machine", func(v *client.View) bool { return v.Complete && len(v.Affiliates) == 1 })

	v := b.await(stranger, "a refusal", func(v *client.View) bool { return v.Err != nil })
	if len(v.Affiliates) != 0 {
		t.Errorf("a stranger sees %v", v.Affiliates)
	}
}

// TestProof makes calls with wrong proofs over connections that are otherwise right.
func TestProof(t *testing.T) {
	b := start(t)

	var seen *tls.ConnectionState

	secure := credentials.NewTLS(b.tls())

	conn, err := grpc.NewClient("passthrough:///"+b.address, grpc.WithTransportCredentials(spy{secure, &seen}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	api := serverapi.NewClusterClient(conn)

	hello := func(cluster string, proofs ...string) error {
		ctx := t.Context()
		for _, p := range proofs {
			ctx = metadata.AppendToOutgoingContext(ctx, extension.KeyProof, p)
		}

		_, err := api.Hello(ctx, &serverapi.HelloRequest{ClusterId: cluster})

		return err
	}

	if err := hello("cluster"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a proof: %v", err)
	}

	prove := func(key []byte, cluster string) string {
		proof, err := seal.NewProver(seal.ProofKey(key)).Prove(seen, cluster)
		if err != nil {
			t.Fatal(err)
		}

		return string(proof)
	}

	right := prove(secret, "cluster")

	for name, c := range map[string]struct {
		cluster string
		proofs  []string
		want    codes.Code
	}{
		"right":             {"cluster", []string{right}, codes.OK},
		"another secret":    {"cluster", []string{prove(other, "cluster")}, codes.Unauthenticated},
		"another cluster":   {"elsewhere", []string{prove(secret, "elsewhere")}, codes.Unauthenticated},
		"for another one":   {"cluster", []string{prove(secret, "elsewhere")}, codes.Unauthenticated},
		"two":               {"cluster", []string{right, right}, codes.Unauthenticated},
		"cut off":           {"cluster", []string{right[:31]}, codes.Unauthenticated},
		"no cluster at all": {"", []string{right}, codes.InvalidArgument},
	} {
		if err := hello(c.cluster, c.proofs...); status.Code(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}

	// A proof of one connection is of no use on another.
	again, err := grpc.NewClient("passthrough:///"+b.address, grpc.WithTransportCredentials(secure))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()

	ctx := metadata.AppendToOutgoingContext(t.Context(), extension.KeyProof, right)
	if _, err := serverapi.NewClusterClient(again).Hello(ctx, &serverapi.HelloRequest{ClusterId: "cluster"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the proof of another connection: %v", err)
	}

	if err := func() error {
		_, err := api.List(t.Context(), &serverapi.ListRequest{ClusterId: "cluster"})

		return err
	}(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("list without a proof: %v", err)
	}
}

// spy shows the connection that was made last.
type spy struct {
	credentials.TransportCredentials

	seen **tls.ConnectionState
}

func (s spy) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := s.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if t, ok := info.(credentials.TLSInfo); ok {
		*s.seen = &t.State
	}

	return conn, info, err
}

func (s spy) Clone() credentials.TransportCredentials {
	return spy{s.TransportCredentials.Clone(), s.seen}
}

// TestStrangers opens connections that never prove anything. Machines of the cluster still get in.
func TestStrangers(t *testing.T) {
	b := start(t)
	b.carrier.door.patience = time.Second

	for range 2 * maxStrangersEach {
		conn, err := net.Dial("tcp", b.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}

	begin := time.Now()
	member := b.session("member", secret)

	b.await(member, "a place", func(v *client.View) bool { return v.Complete })

	for {
		b.carrier.door.mu.Lock()
		strangers, hosts, open := b.carrier.door.strangers, len(b.carrier.door.of), b.carrier.door.open
		b.carrier.door.mu.Unlock()

		if strangers > maxStrangersEach {
			t.Fatalf("%d strangers of one host", strangers)
		}

		if strangers == 0 && hosts == 0 && open == 1 {
			return
		}

		if time.Since(begin) > time.Minute {
			t.Fatalf("the door still counts %d strangers of %d hosts, %d connections", strangers, hosts, open)
		}

		time.Sleep(10 * time.Millisecond)
	}
}
