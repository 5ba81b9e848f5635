// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/pki"
)

func newCA(t testing.TB, kind pki.KeyKind) *pki.CA {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: kind, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	return ca
}

func TestCARoundTrip(t *testing.T) {
	for _, test := range []struct {
		kind   pki.KeyKind
		header string
	}{
		{pki.Ed25519, "-----BEGIN ED25519 PRIVATE KEY-----"},
		{pki.ECDSAP256, "-----BEGIN EC PRIVATE KEY-----"},
		{pki.RSA2048, "-----BEGIN RSA PRIVATE KEY-----"},
	} {
		t.Run(test.kind.String(), func(t *testing.T) {
			made := newCA(t, test.kind)

			if !strings.HasPrefix(string(made.PEM.Key), test.header) {
				t.Errorf("key: got %.40q, want %q first", made.PEM.Key, test.header)
			}

			read, err := pki.ParseCA(made.PEM.Crt, made.PEM.Key)
			if err != nil {
				t.Fatal(err)
			}

			if !read.Certificate.Equal(made.Certificate) {
				t.Error("the parsed certificate differs")
			}

			if got, want := read.Certificate.Subject.Organization, []string{"talos"}; !slices.Equal(got, want) {
				t.Errorf("organization: got %q, want %q", got, want)
			}

			life := time.Until(read.Certificate.NotAfter)
			if off := (life - pki.CALifetime).Abs(); off > time.Minute {
				t.Errorf("lifetime: got %s, want %s", life, pki.CALifetime)
			}
		})
	}
}

func TestSign(t *testing.T) {
	ca := newCA(t, pki.ECDSAP256)

	for _, test := range []struct {
		name string
		opts pki.LeafOptions
		kind pki.KeyKind
		want []x509.ExtKeyUsage
	}{
		{"server", pki.LeafOptions{Server: true, DNSNames: []string{"node", "node.example"}, IPs: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}, pki.ECDSAP256, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		{"client", pki.LeafOptions{Client: true, CommonName: "admin", Organization: []string{"system:masters"}}, pki.ECDSAP256, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		{"both, other key", pki.LeafOptions{Server: true, Client: true, DNSNames: []string{"peer"}, Kind: pki.Ed25519}, pki.Ed25519, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.opts.TTL = 24 * time.Hour

			pair, err := ca.Sign(test.opts)
			if err != nil {
				t.Fatal(err)
			}

			if _, err := pair.TLS(); err != nil {
				t.Fatal(err)
			}

			cert, err := pki.ParseCertificate(pair.Crt)
			if err != nil {
				t.Fatal(err)
			}

			roots, err := pki.Pool(ca.PEM.Crt)
			if err != nil {
				t.Fatal(err)
			}

			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: test.want}); err != nil {
				t.Errorf("verify: %v", err)
			}

			if diff := cmp.Diff(test.want, cert.ExtKeyUsage); diff != "" {
				t.Errorf("usages (-want +got):\n%s", diff)
			}

			for _, name := range test.opts.DNSNames {
				if err := cert.VerifyHostname(name); err != nil {
					t.Error(err)
				}
			}

			for _, addr := range test.opts.IPs {
				if err := cert.VerifyHostname(addr.String()); err != nil {
					t.Error(err)
				}
			}

			if got, _ := pki.KindOf(cert.PublicKey); got != test.kind {
				t.Errorf("key: got %s, want %s", got, test.kind)
			}

			if cert.IsCA {
				t.Error("a leaf is an authority")
			}

			half := time.Until(pki.RenewAt(cert))
			if off := (half - 12*time.Hour).Abs(); off > 2*pki.Backdate {
				t.Errorf("renewal: got in %s, want in 12h", half)
			}
		})
	}
}

func TestLeafEndsWithItsCA(t *testing.T) {
	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{Client: true, TTL: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	cert, err := pki.ParseCertificate(pair.Crt)
	if err != nil {
		t.Fatal(err)
	}

	if got, want := cert.NotAfter, ca.Certificate.NotAfter; !got.Equal(want) {
		t.Errorf("end: got %s, want %s", got, want)
	}
}

func TestSignRefuses(t *testing.T) {
	ca := newCA(t, pki.Ed25519)

	ended, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, NotBefore: time.Now().Add(-2 * time.Hour), TTL: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name string
		ca   *pki.CA
		opts pki.LeafOptions
		want string
	}{
		{"no usage", ca, pki.LeafOptions{TTL: time.Hour}, "neither a server nor a client"},
		{"no lifetime", ca, pki.LeafOptions{Client: true}, "not positive"},
		{"negative lifetime", ca, pki.LeafOptions{Client: true, TTL: -time.Hour}, "not positive"},
		{"authority ended", ended, pki.LeafOptions{Client: true, TTL: time.Hour, NotBefore: time.Now()}, "create a new one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := test.ca.Sign(test.opts); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// A request cannot obtain a role: its organization is dropped.
func TestSignCSR(t *testing.T) {
	ca := newCA(t, pki.Ed25519)

	csr, key, err := pki.NewCSR(pki.CSROptions{
		Kind: pki.Ed25519, CommonName: "worker", Organization: []string{"os:admin"},
		DNSNames: []string{"worker"}, IPs: []netip.Addr{netip.MustParseAddr("10.5.0.3")},
	})
	if err != nil {
		t.Fatal(err)
	}

	crt, err := ca.SignCSR(csr, pki.LeafOptions{Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := (pki.Pair{Crt: crt, Key: key}).TLS(); err != nil {
		t.Error(err)
	}

	cert, err := pki.ParseCertificate(crt)
	if err != nil {
		t.Fatal(err)
	}

	if len(cert.Subject.Organization) != 0 {
		t.Errorf("organization: got %q, want none", cert.Subject.Organization)
	}

	if cert.Subject.CommonName != "worker" || cert.VerifyHostname("10.5.0.3") != nil || cert.VerifyHostname("worker") != nil {
		t.Errorf("got %s with %v %v, want the names of the request", cert.Subject, cert.DNSNames, cert.IPAddresses)
	}
}

func TestParseRefuses(t *testing.T) {
	ca, other := newCA(t, pki.Ed25519), newCA(t, pki.Ed25519)

	leaf, err := ca.Sign(pki.LeafOptions{Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name, crt, key, want string
	}{
		{"nothing", "", "", "the text is empty"},
		{"not PEM", "hello", string(ca.PEM.Key), "not PEM"},
		{"key in place of a certificate", string(ca.PEM.Key), string(ca.PEM.Key), `contains "ED25519 PRIVATE KEY", want ["CERTIFICATE"]`},
		{"garbage inside", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", string(ca.PEM.Key), "read a certificate"},
		{"no key", string(ca.PEM.Crt), "", "the text is empty"},
		{"another's key", string(ca.PEM.Crt), string(other.PEM.Key), "do not belong together"},
		{"a leaf", string(leaf.Crt), string(leaf.Key), "not one of an authority"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := pki.ParseCA([]byte(test.crt), []byte(test.key)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestKeyPair(t *testing.T) {
	private, public, err := pki.NewKeyPair(pki.ServiceAccountKind)
	if err != nil {
		t.Fatal(err)
	}

	again, err := pki.PublicKeyOf(private)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(public), string(again)); diff != "" {
		t.Errorf("public key (-want +got):\n%s", diff)
	}

	block, _ := pem.Decode(public)
	if block == nil {
		t.Fatalf("got %q, want PEM", public)
	}

	if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	ca := newCA(f, pki.Ed25519)

	f.Add(ca.PEM.Crt)
	f.Add(ca.PEM.Key)
	f.Add([]byte("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"))

	f.Fuzz(func(t *testing.T, text []byte) {
		_, errCert := pki.ParseCertificates(text)
		_, errKey := pki.ParseKey(text)
		_, errCSR := pki.ParseCSR(text)

		for _, err := range []error{errCert, errKey, errCSR} {
			if err != nil && err.Error() == "" {
				t.Error("an error without a text")
			}
		}
	})
}
