// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/pki"
)

const token = "abcdef.0123456789abcdef"

func newCA(t testing.TB) *pki.CA {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	return ca
}

// knows is the view of trustd and the authority of the signer.
type knows struct {
	View
	Authority
}

// follows sets the view of a server and the authority of its signer.
type follows struct {
	*Server

	now atomic.Pointer[knows]
}

func (f *follows) set(k *knows) {
	f.now.Store(k)

	if k == nil {
		f.SetView(nil)
	} else {
		f.SetView(&k.View)
	}
}

// local is the signer without a socket: outgoing metadata become incoming.
type local struct{ *Signer }

func (l local) Certificate(ctx context.Context, in *securityapi.CertificateRequest, _ ...grpc.CallOption) (*securityapi.CertificateResponse, error) {
	md, _ := metadata.FromOutgoingContext(ctx)

	return l.Signer.Certificate(metadata.NewIncomingContext(ctx, md), in)
}

func newServer(log *slog.Logger) *follows {
	f := &follows{}

	f.Server = NewServer(log, local{newSigner(log, func(context.Context) (*Authority, error) {
		if now := f.now.Load(); now != nil {
			return &now.Authority, nil
		}

		return nil, nil
	})})

	return f
}

func newView(t testing.TB, ca *pki.CA) *knows {
	t.Helper()

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "cp1", DNSNames: []string{"cp1"}, IPs: addrs("127.0.0.1", "10.5.0.2"), Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	cert, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}

	v := &knows{View{Server: &cert}, Authority{CA: ca, Bundle: ca.PEM.Crt, Token: token, Reserved: newReserved()}}
	v.Reserved.add([]string{"cp1"}, addrs("10.5.0.2"))

	return v
}

// start serves on loopback until the test ends.
func start(t testing.TB, log io.Writer, view *knows) (*follows, string) {
	t.Helper()

	server := newServer(slog.New(slog.NewTextHandler(log, nil)))
	server.set(view)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- server.Serve(ctx, l) }()

	t.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	return server, l.Addr().String()
}

func dial(t testing.TB, address string, ca *pki.CA, change ...func(*tls.Config)) *grpc.ClientConn {
	t.Helper()

	pool, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	for _, c := range change {
		c(config)
	}

	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(config)), grpc.WithNoProxy())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	return conn
}

func certificate(t testing.TB, conn *grpc.ClientConn, csr []byte, tokens ...string) (*securityapi.CertificateResponse, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	for _, token := range tokens {
		ctx = metadata.AppendToOutgoingContext(ctx, "token", token)
	}

	return securityapi.NewSecurityServiceClient(conn).Certificate(ctx, &securityapi.CertificateRequest{Csr: csr})
}

// TestCertificate checks the content of certificates for various requests.
func TestCertificate(t *testing.T) {
	ca := newCA(t)
	_, address := start(t, t.Output(), newView(t, ca))

	csr := requestFor(t, edKey(), x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "w1", Organization: []string{"os:admin", "system:masters"}, OrganizationalUnit: []string{"x"}},
		DNSNames:    []string{"w1", "cp1"},
		IPAddresses: ips("127.0.0.1", "10.5.0.2", "10.5.0.3"),
		ExtraExtensions: []pkix.Extension{
			{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}},                           // an authority
			{Id: []int{2, 5, 29, 37}, Value: []byte{0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02}}, // for clients
		},
	})

	answer, err := certificate(t, dial(t, address, ca), csr, token)
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(answer.GetCa(), ca.PEM.Crt) {
		t.Errorf("authorities: got %s, want those of the view", answer.GetCa())
	}

	cert, err := pki.ParseCertificate(answer.GetCrt())
	if err != nil {
		t.Fatal(err)
	}

	if err := cert.CheckSignatureFrom(ca.Certificate); err != nil {
		t.Error(err)
	}

	got := fmt.Sprint(cert.Subject, cert.DNSNames, cert.IPAddresses, cert.ExtKeyUsage, cert.KeyUsage, cert.IsCA, cert.URIs, cert.EmailAddresses)
	want := fmt.Sprint(pkix.Name{CommonName: "w1"}, []string{"w1"}, ips("127.0.0.1", "10.5.0.3"), []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, x509.KeyUsageDigitalSignature,
		false, []string{}, []string{})

	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	if life := time.Until(cert.NotAfter); life > FirstLifetime || life < FirstLifetime-time.Minute {
		t.Errorf("life: got %s, want %s: no Node of that name is known", life, FirstLifetime)
	}

	if len(cert.UnknownExtKeyUsage) > 0 || len(cert.UnhandledCriticalExtensions) > 0 {
		t.Error("the certificate has extra content")
	}
}

// TestCertificateOfNode: the machine of a Node gets its name for a day, and no other machine gets it.
func TestCertificateOfNode(t *testing.T) {
	ca := newCA(t)

	for name, test := range map[string]struct {
		nodes map[netip.Addr][]string
		want  string
		life  time.Duration
	}{
		"its machine":           {map[netip.Addr][]string{netip.MustParseAddr("127.0.0.1"): {"w1"}}, "[w1 w1.example.org extra]", Lifetime},
		"another machine":       {map[netip.Addr][]string{netip.MustParseAddr("127.0.0.1"): {"w2"}}, "[extra]", FirstLifetime},
		"a machine without one": {nil, "[extra]", FirstLifetime},
	} {
		t.Run(name, func(t *testing.T) {
			view := newView(t, ca)
			view.Nodes = newNodes([]Node{{Name: "w1", Addresses: addrs("10.5.0.3")}, {Name: "w2"}})
			view.Nodes.at = test.nodes // a Node has no loopback, from which the test calls

			_, address := start(t, t.Output(), view)
			csr := requestFor(t, edKey(), x509.CertificateRequest{DNSNames: []string{"w1", "w1.example.org", "extra"}, IPAddresses: ips("127.0.0.1")})

			answer, err := certificate(t, dial(t, address, ca), csr, token)
			if err != nil {
				t.Fatal(err)
			}

			cert, err := pki.ParseCertificate(answer.GetCrt())
			if err != nil {
				t.Fatal(err)
			}

			if got := fmt.Sprint(cert.DNSNames); got != test.want {
				t.Errorf("names: got %s, want %s", got, test.want)
			}

			if life := time.Until(cert.NotAfter); life > test.life || life < test.life-time.Minute {
				t.Errorf("life: got %s, want %s", life, test.life)
			}
		})
	}
}

// TestRefused checks refused requests: the log has the reason and never the token.
func TestRefused(t *testing.T) {
	ca := newCA(t)
	good := requestFor(t, edKey(), x509.CertificateRequest{DNSNames: []string{"w1"}, IPAddresses: ips("127.0.0.1")})
	other := requestFor(t, edKey(), x509.CertificateRequest{DNSNames: []string{"w1"}, IPAddresses: ips("10.5.0.3")})

	for name, test := range map[string]struct {
		csr    []byte
		tokens []string
		view   func(*knows)
		code   codes.Code
		text   string
	}{
		"good":               {csr: good, tokens: []string{token}, code: codes.OK},
		"no token":           {csr: good, code: codes.Unauthenticated, text: "carries 0 machine tokens"},
		"an empty token":     {csr: good, tokens: []string{""}, code: codes.Unauthenticated, text: "compare machine.token"},
		"another token":      {csr: good, tokens: []string{"abcdef.secretsecretsecr"}, code: codes.Unauthenticated, text: "compare machine.token"},
		"a part of it":       {csr: good, tokens: []string{token[:len(token)-1]}, code: codes.Unauthenticated, text: "compare machine.token"},
		"more than it":       {csr: good, tokens: []string{token + "x"}, code: codes.Unauthenticated, text: "compare machine.token"},
		"two tokens":         {csr: good, tokens: []string{"guess", token}, code: codes.Unauthenticated, text: "carries 2 machine tokens"},
		"none is set":        {csr: good, tokens: []string{""}, view: func(v *knows) { v.Token = "" }, code: codes.Unauthenticated},
		"not itself":         {csr: other, tokens: []string{token}, code: codes.PermissionDenied, text: "a node may request a certificate only for itself"},
		"empty":              {tokens: []string{token}, code: codes.InvalidArgument, text: "empty"},
		"garbage":            {csr: []byte("garbage"), tokens: []string{token}, code: codes.InvalidArgument, text: "not PEM"},
		"oversized":          {csr: bytes.Repeat([]byte("x"), 2*maxRequest), tokens: []string{token}, code: codes.InvalidArgument, text: "want at most"},
		"huge":               {csr: bytes.Repeat([]byte("x"), 1<<20), tokens: []string{token}, code: codes.ResourceExhausted, text: "larger than max"},
		"garbage, no token":  {csr: []byte("garbage"), code: codes.Unauthenticated},
		"an authority's end": {csr: good, tokens: []string{token}, view: func(v *knows) { v.CA = ended(t) }, code: codes.Internal, text: "create a new one"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer

			view := newView(t, ca)
			if test.view != nil {
				test.view(view)
			}

			t.Run("", func(t *testing.T) { // the server has ended when the log is read
				_, address := start(t, &log, view)

				_, err := certificate(t, dial(t, address, ca), test.csr, test.tokens...)
				if got := status.Convert(err); got.Code() != test.code || !strings.Contains(got.Message(), test.text) {
					t.Errorf("got %v, want %v with %q", err, test.code, test.text)
				}
			})

			for _, secret := range append(test.tokens, token) {
				if secret != "" && strings.Contains(log.String(), secret) {
					t.Errorf("the log has the token: %s", &log)
				}
			}

			if !strings.Contains(name, "huge") && log.Len() == 0 {
				t.Error("the log is empty")
			}
		})
	}
}

func ended(t *testing.T) *pki.CA {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, NotBefore: time.Now().Add(-2 * time.Hour), TTL: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}

	time.Sleep(time.Until(ca.Certificate.NotAfter) + time.Millisecond)

	ca.Certificate.NotAfter = time.Now().Add(-time.Hour)

	return ca
}

// TestView: the present token, authority and certificate are used, and nothing is served before they exist.
func TestView(t *testing.T) {
	first, second := newCA(t), newCA(t)
	csr := requestFor(t, edKey(), x509.CertificateRequest{IPAddresses: ips("127.0.0.1")})
	server, address := start(t, t.Output(), nil)

	if _, err := certificate(t, dial(t, address, first), csr, token); status.Code(err) != codes.Unavailable {
		t.Errorf("without a view: got %v, want Unavailable", err)
	}

	server.set(newView(t, first))

	conn := dial(t, address, first)
	if _, err := certificate(t, conn, csr, token); err != nil {
		t.Errorf("with a view: %v", err)
	}

	view := newView(t, second)
	view.Token = "changed"
	server.set(view)

	if _, err := certificate(t, conn, csr, token); status.Code(err) != codes.Unauthenticated {
		t.Errorf("with the token of before, over a connection of before: got %v, want Unauthenticated", err)
	}

	if _, err := certificate(t, dial(t, address, first), csr, "changed"); err == nil {
		t.Error("a new connection still gets the old certificate")
	}

	if _, err := certificate(t, dial(t, address, second), csr, "changed"); err != nil {
		t.Errorf("with the new one: %v", err)
	}

	server.set(nil)

	if _, err := certificate(t, dial(t, address, second), csr, "changed"); status.Code(err) != codes.Unavailable {
		t.Errorf("when it is gone: got %v, want Unavailable", err)
	}
}

// TestOnlyThis: no other service is served.
func TestOnlyThis(t *testing.T) {
	ca := newCA(t)
	_, address := start(t, t.Output(), newView(t, ca))

	if err := dial(t, address, ca).Invoke(t.Context(), "/machine.MachineService/Version", &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("another service: got %v, want Unimplemented", err)
	}

	stream, err := dial(t, address, ca).NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/securityapi.SecurityService/Watch")
	if err == nil {
		err = stream.RecvMsg(&emptypb.Empty{})
	}

	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream: got %v, want Unimplemented", err)
	}

	old := dial(t, address, ca, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
	if _, err := certificate(t, old, nil, token); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.2: got %v, want it refused", err)
	}
}

// TestEndsWithItsContext: Serve ends although clients stay connected.
func TestEndsWithItsContext(t *testing.T) {
	ca := newCA(t)
	server := newServer(slog.New(slog.DiscardHandler))
	server.set(newView(t, ca))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	go func() { done <- server.Serve(ctx, l) }()

	conn := dial(t, l.Addr().String(), ca)
	if _, err := certificate(t, conn, nil, token); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v, want InvalidArgument", err)
	}

	cancel()

	if err := <-done; err != nil {
		t.Error(err)
	}

	if _, err := net.Dial("tcp", l.Addr().String()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("the listener is still open (%v)", err)
	}
}
