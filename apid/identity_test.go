// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/pki"
)

// alert does a handshake and returns the server's alert, "" when it admits the client.
func alert(t *testing.T, addr string, config *tls.Config) string {
	t.Helper()

	conn, err := tls.Dial("tcp", addr, config)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()

	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}

	// In TLS 1.3 the client learns of a refusal when it reads. A server that accepts it sends HTTP/2 settings.
	if _, err := io.ReadFull(conn, make([]byte, 9)); err != nil {
		return err.Error()
	}

	return ""
}

func TestHandshake(t *testing.T) {
	ca, foreign := newCA(t), newCA(t)
	n := startNode(t, "a", view(t, ca))

	pool, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name    string
		cert    *tls.Certificate
		version uint16
		want    string // part of the error, "" for none
	}{
		{"administrator", clientCert(t, ca, "os:admin"), 0, ""},
		{"no role at all", clientCert(t, ca), 0, ""},
		{"no certificate", nil, 0, "certificate required"},
		{"of another authority", clientCert(t, foreign, "os:admin"), 0, "unknown certificate authority"},
		{"a server's", pair(t, ca, pki.LeafOptions{Organization: []string{"os:admin"}, Server: true}), 0, "bad certificate"},
		{"a server's and client's", pair(t, ca, pki.LeafOptions{Organization: []string{"os:admin"}, Server: true, Client: true}), 0, "bad certificate"},
		{"expired", pair(t, ca, pki.LeafOptions{
			Organization: []string{"os:admin"}, Client: true, NotBefore: time.Now().Add(-2 * time.Hour), TTL: time.Nanosecond,
		}), 0, "certificate"},
		{"TLS 1.2", clientCert(t, ca, "os:admin"), tls.VersionTLS12, "protocol version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}, MaxVersion: tt.version, MinVersion: tls.VersionTLS12}
			if tt.cert != nil {
				// Whatever authorities the server's request lists.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return tt.cert, nil }
			}

			got := alert(t, n.addr, config)
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want it to contain %q", got, tt.want)
			}

			if calls, _ := n.seen(); calls != 0 {
				t.Errorf("the backend got %d calls", calls)
			}
		})
	}
}

func TestRoles(t *testing.T) {
	ca := newCA(t)
	n := startNode(t, "a", view(t, ca))

	open := view(t, ca)
	open.Open, open.Client, open.CAs, open.NoRouting = true, nil, nil, true
	maintenance := startNode(t, "m", open)

	for _, tt := range []struct {
		name string
		node *node
		cert *tls.Certificate
		sent []string // talos-role metadata
		want []string
	}{
		{"administrator", n, clientCert(t, ca, "os:admin"), nil, []string{"os:admin"}},
		{"several", n, clientCert(t, ca, "os:reader", "os:etcd:backup"), nil, []string{"os:reader", "os:etcd:backup"}},
		{"none", n, clientCert(t, ca), nil, nil},
		{"spoofed", n, clientCert(t, ca, "os:reader"), []string{"os:admin"}, []string{"os:reader"}},
		{"spoofed without any", n, clientCert(t, ca), []string{"os:admin"}, nil},
		{"another apid", n, clientCert(t, ca, contract.RoleImpersonator), []string{"os:reader", "os:operator"}, []string{"os:reader", "os:operator"}},
		{"an apid's role among others", n, clientCert(t, ca, "os:reader", contract.RoleImpersonator), []string{"os:admin"}, []string{"os:reader"}},
		{"blanks", n, clientCert(t, ca, "", "os:reader", "unknown"), nil, []string{"unknown", "os:reader"}},
		{"another apid without roles", n, clientCert(t, ca, contract.RoleImpersonator), nil, nil},
		{"maintenance, no certificate", maintenance, nil, nil, []string{"os:reader"}},
		{"maintenance, spoofed", maintenance, nil, []string{"os:admin"}, []string{"os:reader"}},
		{"maintenance, with a certificate", maintenance, clientCert(t, ca, "os:admin"), nil, []string{"os:reader"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			for _, role := range tt.sent {
				ctx = with(ctx, contract.KeyRole, role)
			}

			if _, err := dial(t, tt.node, ca, tt.cert).Version(ctx, &emptypb.Empty{}); err != nil {
				t.Fatal(err)
			}

			_, md := tt.node.seen()
			if d := cmp.Diff(tt.want, md.Get(contract.KeyRole)); d != "" {
				t.Errorf("roles at machined (-want +got):\n%s", d)
			}
		})
	}
}

// TestOtherClientsAreNotHarmed writes garbage to the port, and garbage over TLS.
func TestOtherClientsAreNotHarmed(t *testing.T) {
	ca := newCA(t)
	n := startNode(t, "a", view(t, ca))
	client := dial(t, n, ca, clientCert(t, ca, "os:admin"))

	pool, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	good := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{*clientCert(t, ca, "os:admin")}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}

	for _, garbage := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x00", strings.Repeat("\xff", 1<<16), "\x16\x03\x01\xff\xff" + strings.Repeat("a", 1<<14),
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		raw, err := net.Dial("tcp", n.addr)
		if err != nil {
			t.Fatal(err)
		}

		over, err := tls.Dial("tcp", n.addr, good)
		if err != nil {
			t.Fatal(err)
		}

		for _, conn := range []net.Conn{raw, over} {
			_, _ = io.WriteString(conn, garbage) // it may be cut off

			if got := tag(client.Version(t.Context(), &emptypb.Empty{})); got != "a" {
				t.Errorf("%.20q on the port: a call gets %s, want an answer", garbage, got)
			}

			conn.Close()
		}
	}
}

// TestBeforeTheFirstView: without a certificate no handshake succeeds.
func TestBeforeTheFirstView(t *testing.T) {
	ca := newCA(t)
	n := startNode(t, "a", nil)

	if got := alert(t, n.addr, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}); !strings.Contains(got, "internal error") { // no server yet
		t.Errorf("got %q, want an alert", got)
	}

	n.router.SetView(view(t, ca))

	if got := tag(dial(t, n, ca, clientCert(t, ca, "os:admin")).Version(t.Context(), &emptypb.Empty{})); got != "a" {
		t.Errorf("after it: got %s, want an answer", got)
	}
}

// TestResumedSessionIsVerified: a client resumes its TLS session after its authority is no longer accepted.
func TestResumedSessionIsVerified(t *testing.T) {
	ca, next := newCA(t), newCA(t)
	v := view(t, ca)
	n := startNode(t, "a", v)

	pool, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	config := &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{*clientCert(t, ca, "os:admin")}, NextProtos: []string{"h2"},
		MinVersion: tls.VersionTLS13, ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}

	if got := alert(t, n.addr, config); got != "" {
		t.Fatalf("first: %s", got)
	}

	rotated := *v
	rotated.CAs = x509.NewCertPool()
	rotated.CAs.AddCert(next.Certificate)
	n.router.SetView(&rotated)

	if got := alert(t, n.addr, config); got == "" {
		t.Error("the client was admitted by its old session")
	}
}

// TestCheck checks certificates that were valid when their connection was made.
func TestCheck(t *testing.T) {
	ca, foreign := newCA(t), newCA(t)
	mine, others := view(t, ca).CAs, view(t, foreign).CAs

	leaf, err := x509.ParseCertificate(clientCert(t, ca, "os:admin").Certificate[0])
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name     string
		accepted *x509.CertPool
		at       time.Time
		want     codes.Code
	}{
		{"good", mine, time.Now(), codes.OK},
		{"expired since", mine, time.Now().Add(2 * time.Hour), codes.Unauthenticated},
		{"of an authority that is no longer accepted", others, time.Now(), codes.Unauthenticated},
		{"when none is", nil, time.Now(), codes.Unauthenticated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, before := range []*x509.CertPool{nil, mine, others} {
				id := &identity{}
				id.State.PeerCertificates = []*x509.Certificate{leaf}
				id.accepted.Store(before)

				if before == others && tt.accepted == others {
					continue // it cannot have been checked against those
				}

				for range 2 {
					if err := id.check(tt.accepted, tt.at); status.Code(err) != tt.want {
						t.Errorf("got %v, want %v", err, tt.want)
					}
				}
			}
		})
	}
}
