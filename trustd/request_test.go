// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	edKey = sync.OnceValue(func() crypto.Signer {
		_, key, _ := ed25519.GenerateKey(rand.Reader)

		return key
	})
	rsaKey = func(bits int) func() crypto.Signer {
		return sync.OnceValue(func() crypto.Signer {
			key, err := rsa.GenerateKey(rand.Reader, bits)
			if err != nil {
				panic(err)
			}

			return key
		})
	}
	rsa1024, rsa2048 = rsaKey(1024), rsaKey(2048)
)

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// requestFor creates a signing request.
func requestFor(t testing.TB, key crypto.Signer, template x509.CertificateRequest) []byte {
	t.Helper()

	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}

	return encode(der)
}

func ips(texts ...string) []net.IP {
	var out []net.IP
	for _, text := range texts {
		out = append(out, net.ParseIP(text))
	}

	return out
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}

	return out
}

func TestParseRequest(t *testing.T) {
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	good := x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "w1.example.org", Organization: []string{"os:admin"}}, DNSNames: []string{"w1", "w1.example.org", "localhost"},
		IPAddresses: ips("10.5.0.3", "fd00::3", "127.0.0.1"), EmailAddresses: []string{"a@example.org"}, URIs: []*url.URL{{Scheme: "spiffe", Host: "x"}},
	}
	want := Request{CommonName: "w1.example.org", DNSNames: good.DNSNames, Addresses: addrs("10.5.0.3", "fd00::3", "127.0.0.1")}

	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("n%d", i))
		}

		return names
	}

	withNames := func(names ...string) []byte {
		return requestFor(t, edKey(), x509.CertificateRequest{DNSNames: names})
	}

	broken := bytes.Clone(func() []byte {
		block, _ := pem.Decode(requestFor(t, edKey(), good))

		return block.Bytes
	}())
	broken[len(broken)-1] ^= 1

	for name, test := range map[string]struct {
		text []byte
		want Request
		err  string
	}{
		"Ed25519":       {text: requestFor(t, edKey(), good), want: want},
		"ECDSA":         {text: requestFor(t, p256, good), want: want},
		"RSA 2048":      {text: requestFor(t, rsa2048(), good), want: want},
		"old PEM type":  {text: bytes.ReplaceAll(requestFor(t, edKey(), good), []byte("CERTIFICATE REQ"), []byte("NEW CERTIFICATE REQ")), want: want},
		"without names": {text: withNames()},
		"mapped": {
			text: requestFor(t, edKey(), x509.CertificateRequest{IPAddresses: ips("::ffff:10.5.0.3")}), want: Request{Addresses: addrs("10.5.0.3")},
		},
		"the maximum of names": {text: withNames(many(maxNames)...), want: Request{DNSNames: many(maxNames)}},

		"empty":           {err: "empty"},
		"oversized":       {text: bytes.Repeat([]byte("x"), maxRequest+1), err: "16385 bytes, want at most 16384"},
		"not PEM":         {text: []byte("hello"), err: "not PEM"},
		"a certificate":   {text: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: broken}), err: `holds a "CERTIFICATE"`},
		"not DER":         {text: encode([]byte("hello")), err: "read the signing request"},
		"cut":             {text: encode(broken[:len(broken)/2]), err: "read the signing request"},
		"an unsigned one": {text: encode(broken), err: "not signed with its own key"},
		"RSA 1024":        {text: requestFor(t, rsa1024(), good), err: "RSA with 1024 bits, want 2048 to 4096"},
		"too many names":  {text: withNames(many(maxNames + 1)...), err: "65 names, want at most 64"},
		"too many addresses": {
			text: requestFor(t, edKey(), x509.CertificateRequest{IPAddresses: slicesRepeat(net.IPv4(10, 0, 0, 1), maxAddresses+1)}),
			err:  "257 addresses, want at most 256",
		},
		"a wildcard":     {text: withNames("*.example.org"), err: `"*.example.org" is not the name of a host`},
		"an empty label": {text: withNames("a..b"), err: "is not the name of a host"},
		"a zero byte":    {text: withNames("a\x00b"), err: "is not the name of a host"},
		"a long label":   {text: withNames(strings.Repeat("a", 64)), err: "is not the name of a host"},
		"a long name":    {text: withNames(strings.Repeat("abc.", 64)), err: "256 characters, want at most 253"},
		"an invalid common name": {
			text: requestFor(t, edKey(), x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:admin/x"}}), err: "common name: ",
		},
		"any address": {text: requestFor(t, edKey(), x509.CertificateRequest{IPAddresses: ips("0.0.0.0")}), err: "address 0.0.0.0 cannot be a node's"},
		"multicast":   {text: requestFor(t, edKey(), x509.CertificateRequest{IPAddresses: ips("ff02::1")}), err: "cannot be a node's"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRequest(test.text)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q in it", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			got.Key = nil

			if diff := cmp.Diff(test.want, *got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHugeKey: a key whose use takes long is refused before its use.
func TestHugeKey(t *testing.T) {
	key := rsa2048().(*rsa.PrivateKey)
	block, _ := pem.Decode(requestFor(t, key, x509.CertificateRequest{}))

	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}

	csr.PublicKey.(*rsa.PublicKey).N.Lsh(key.N, 60000)

	if err := checkKey(csr.PublicKey); err == nil || !strings.Contains(err.Error(), "62048 bits") {
		t.Errorf("got %v, want it refused for its 62048 bits", err)
	}
}

func slicesRepeat[T any](v T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}

	return out
}

func TestGrant(t *testing.T) {
	reserved := newReserved()
	reserved.add([]string{"CP1", "cp1.example.org", "lb.example.org", "localhost"}, addrs("10.5.0.2", "::ffff:10.5.0.9", "127.0.0.1", "::1", "fd00::2"))
	reserved.declare(addrs("10.5.0.2", "10.5.0.7", "10.5.0.8", "127.0.0.1"))

	ask := Request{
		CommonName: "w1", DNSNames: []string{"w1", "localhost", "Cp1", "lb.example.org"},
		Addresses: addrs("10.5.0.3", "127.0.0.1", "10.5.0.2", "10.5.0.9", "192.0.2.7"),
	}

	for name, test := range map[string]struct {
		ask  Request
		from string
		want Request
		left []string
		err  string
	}{
		"itself, without names of the control plane": {
			ask: ask, from: "10.5.0.3",
			want: Request{CommonName: "w1", DNSNames: []string{"w1", "localhost"}, Addresses: addrs("10.5.0.3", "127.0.0.1", "192.0.2.7")},
			left: []string{"10.5.0.2", "10.5.0.9", "Cp1", "lb.example.org"},
		},
		"over a mapped address": {
			ask: Request{Addresses: addrs("10.5.0.3")}, from: "::ffff:10.5.0.3", want: Request{Addresses: addrs("10.5.0.3")},
		},
		"through a load balancer": {
			ask: Request{DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.3")}, from: "10.5.0.9",
			want: Request{DNSNames: []string{"w1"}, Addresses: addrs("10.5.0.3")},
		},
		"an address that all configurations list, from there": {
			ask: Request{Addresses: addrs("10.5.0.2", "10.5.0.7", "10.5.0.8", "127.0.0.1")}, from: "10.5.0.7",
			want: Request{Addresses: addrs("10.5.0.7", "127.0.0.1")}, left: []string{"10.5.0.2", "10.5.0.8"},
		},
		"the control plane's address, from there": {
			ask: Request{Addresses: addrs("10.5.0.2")}, from: "10.5.0.2", left: []string{"10.5.0.2"},
		},
		"the control plane's name as its own": {
			ask: Request{CommonName: "LB.example.org", Addresses: addrs("10.5.0.3")}, from: "10.5.0.3",
			want: Request{Addresses: addrs("10.5.0.3")}, left: []string{"CN=LB.example.org"},
		},
		"another node":        {ask: ask, from: "10.5.0.4", err: "comes from 10.5.0.4, which is not among the addresses"},
		"no address":          {ask: Request{DNSNames: []string{"w1"}}, from: "10.5.0.3", err: "machine.certSANs"},
		"this machine":        {ask: Request{Addresses: addrs("10.5.0.3")}, from: "127.0.0.1", err: "comes from 127.0.0.1"},
		"an address of a kin": {ask: Request{Addresses: addrs("10.5.0.33")}, from: "10.5.0.3", err: "comes from 10.5.0.3"},
	} {
		t.Run(name, func(t *testing.T) {
			got, left, err := test.ask.Grant(netip.MustParseAddr(test.from), reserved)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q in it", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			same := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
			if diff := cmp.Diff(test.want, got, same); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(test.left, left); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParseRequest: no bytes panic, and an accepted request is within the limits.
func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n"))
	f.Add(encode([]byte{0x30, 0x82, 0xff, 0xff}))
	f.Add(requestFor(f, edKey(), x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "w1"}, DNSNames: []string{"w1", "*"}, IPAddresses: ips("10.5.0.3", "::1"),
	}))
	f.Add(requestFor(f, rsa1024(), x509.CertificateRequest{DNSNames: []string{"a"}}))

	reserved := newReserved()
	reserved.add([]string{"cp"}, addrs("10.5.0.2"))

	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRequest(text)
		if err != nil {
			return
		}

		if err := checkKey(r.Key); err != nil {
			t.Error(err)
		}

		if len(r.DNSNames) > maxNames || len(r.Addresses) > maxAddresses {
			t.Errorf("got %d names and %d addresses", len(r.DNSNames), len(r.Addresses))
		}

		granted, _, err := r.Grant(netip.MustParseAddr("10.5.0.2"), reserved)
		if err != nil {
			t.Errorf("from a reserved address: %v", err)
		}

		for _, name := range append(granted.DNSNames, granted.CommonName) {
			if strings.EqualFold(name, "cp") || strings.Contains(name, "*") {
				t.Errorf("granted %q", name)
			}
		}

		for _, addr := range granted.Addresses {
			if reserved.Addresses[addr] || !addr.IsValid() || addr.Is4In6() {
				t.Errorf("granted %s", addr)
			}
		}
	})
}
