// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
)

// TestBridge checks that those who trust either authority accept a certificate of one of them that comes with the bridge, and that a bridge
// among the trusted ones does not let in certificates of the authority that signed it.
func TestBridge(t *testing.T) {
	for _, kind := range []pki.KeyKind{pki.Ed25519, pki.ECDSAP256} {
		t.Run(kind.String(), func(t *testing.T) {
			before, after := newCA(t, kind), newCA(t, kind)

			ofAfter, err := before.Bridge(after.Certificate)
			if err != nil {
				t.Fatal(err)
			}

			ofBefore, err := after.Bridge(before.Certificate)
			if err != nil {
				t.Fatal(err)
			}

			for _, test := range []struct {
				name    string
				issuer  *pki.CA
				bridge  *x509.Certificate // nil for none
				trusted *x509.Certificate
				want    bool
			}{
				{"the next authority signs, the old one is known", after, ofAfter, before.Certificate, true},
				{"the old authority signs, the next one is known", before, ofBefore, after.Certificate, true},
				{"the authority itself is known", after, ofAfter, after.Certificate, true},
				{"no bridge", after, nil, before.Certificate, false},
				{"the bridge of the other", after, ofBefore, before.Certificate, false},
				{"only the bridge is known, the old authority signs", before, nil, ofAfter, false},
			} {
				if err := verifies(t, test.issuer, test.bridge, test.trusted, x509.ExtKeyUsageServerAuth); (err == nil) != test.want {
					t.Errorf("%s: got %v, want success: %t", test.name, err, test.want)
				}

				if err := verifies(t, test.issuer, test.bridge, test.trusted, x509.ExtKeyUsageClientAuth); err == nil && test.issuer.Certificate != test.trusted {
					t.Errorf("%s: a bridge lets in a client", test.name)
				}
			}
		})
	}
}

func verifies(t *testing.T, issuer *pki.CA, bridge, trusted *x509.Certificate, usage x509.ExtKeyUsage) error {
	t.Helper()

	pair, err := issuer.Sign(pki.LeafOptions{DNSNames: []string{"node"}, Server: true, Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := pki.ParseCertificate(pair.Crt)
	if err != nil {
		t.Fatal(err)
	}

	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(trusted)

	if bridge != nil {
		between.AddCert(bridge)
	}

	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: "node", KeyUsages: []x509.ExtKeyUsage{usage}})

	return err
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
