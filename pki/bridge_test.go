// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/tls"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
)

// TestBridge checks with TLS connections that clients of either authority accept a server of one of them that sends the bridge, and that
// the bridge lets no one else in: without it the other authority's clients refuse the server, and a client certificate is still refused
// by a server that does not trust its authority.
func TestBridge(t *testing.T) {
	for _, kind := range []pki.KeyKind{pki.Ed25519, pki.ECDSAP256} {
		t.Run(kind.String(), func(t *testing.T) {
			before, after := newCA(t, kind), newCA(t, kind)

			bridge, err := before.Bridge(after.Certificate)
			if err != nil {
				t.Fatal(err)
			}

			back, err := after.Bridge(before.Certificate)
			if err != nil {
				t.Fatal(err)
			}

			chain := func(ca *pki.CA, more []byte) pki.Pair {
				pair, err := ca.Sign(pki.LeafOptions{DNSNames: []string{"node"}, Server: true, Client: true, TTL: time.Hour})
				if err != nil {
					t.Fatal(err)
				}

				return pki.Pair{Crt: slices.Concat(pair.Crt, more), Key: pair.Key}
			}

			ofBefore, ofAfter := pki.EncodeCertificate(back), pki.EncodeCertificate(bridge)

			for _, test := range []struct {
				name            string
				server, client  pki.Pair
				roots, accepted []byte
				want            bool
			}{
				{"the next authority signs, the client knows the old one", chain(after, ofAfter), chain(before, nil), before.PEM.Crt, before.PEM.Crt, true},
				{"the old authority signs, the client knows the next one", chain(before, ofBefore), chain(before, nil), after.PEM.Crt, before.PEM.Crt, true},
				{"the client knows the authority itself", chain(after, ofAfter), chain(before, nil), after.PEM.Crt, before.PEM.Crt, true},
				{"no bridge", chain(after, nil), chain(before, nil), before.PEM.Crt, before.PEM.Crt, false},
				{"a client of the old authority, which is not accepted", chain(after, ofAfter), chain(before, ofBefore), before.PEM.Crt, ofAfter, false},
			} {
				if err := handshake(t, test.server, test.client, test.roots, test.accepted); (err == nil) != test.want {
					t.Errorf("%s: got %v, want success: %t", test.name, err, test.want)
				}
			}
		})
	}
}

// handshake connects a client, which trusts roots, to a server, which accepts clients of the authorities in accepted.
func handshake(t *testing.T, server, client pki.Pair, roots, accepted []byte) error {
	t.Helper()

	config := func(own pki.Pair, trusted []byte) *tls.Config {
		pair, err := own.TLS()
		if err != nil {
			t.Fatal(err)
		}

		pool, err := pki.Pool(trusted)
		if err != nil {
			t.Fatal(err)
		}

		return &tls.Config{
			Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ServerName: "node", MinVersion: tls.VersionTLS13,
			ClientAuth: tls.RequireAndVerifyClientCert,
		}
	}

	near, far := net.Pipe()
	defer near.Close()

	served := make(chan error, 1)

	go func() {
		defer far.Close()

		served <- tls.Server(far, config(server, accepted)).HandshakeContext(t.Context())
	}()

	if err := tls.Client(near, config(client, roots)).HandshakeContext(t.Context()); err != nil {
		near.Close()
		<-served

		return err
	}

	go near.Read(make([]byte, 1)) // the server's alert

	return <-served
}

func TestBridgeRefuses(t *testing.T) {
	ca := newCA(t, pki.Ed25519)

	pair, err := ca.Sign(pki.LeafOptions{Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := pki.ParseCertificate(pair.Crt)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := ca.Bridge(leaf); err == nil {
		t.Error("a bridge to a certificate that is not one of an authority: got no error")
	}

	past, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, NotBefore: time.Now().Add(-2 * time.Hour), TTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}

	future, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, NotBefore: time.Now().Add(time.Hour), TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := future.Bridge(past.Certificate); err == nil {
		t.Error("a bridge between authorities that are not valid at the same time: got no error")
	}
}

// TestParseAuthority checks that bridges are separate from what is trusted.
func TestParseAuthority(t *testing.T) {
	own, other := newCA(t, pki.Ed25519), newCA(t, pki.Ed25519)

	bridge, err := other.Bridge(own.Certificate)
	if err != nil {
		t.Fatal(err)
	}

	got, err := pki.ParseAuthority(slices.Concat(own.PEM.Crt, pki.EncodeCertificate(bridge), other.PEM.Crt))
	if err != nil {
		t.Fatal(err)
	}

	if trusted := pki.EncodeCertificates(got.Trusted()); string(trusted) != string(own.PEM.Crt)+string(other.PEM.Crt) {
		t.Errorf("trusted: got\n%s", trusted)
	}

	if string(got.Chain()) != string(pki.EncodeCertificate(bridge)) {
		t.Errorf("chain: got\n%s", got.Chain())
	}

	if _, err := pki.ParseAuthority([]byte("x")); err == nil {
		t.Error("no certificate: got no error")
	}
}
