// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"context"
	"crypto/x509"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
)

func sign(t *testing.T, ca *pki.CA, opts pki.LeafOptions) []*x509.Certificate {
	t.Helper()

	opts.TTL = time.Hour

	pair, err := ca.Sign(opts)
	if err != nil {
		t.Fatal(err)
	}

	cert, err := pki.ParseCertificate(pair.Crt)
	if err != nil {
		t.Fatal(err)
	}

	return []*x509.Certificate{cert}
}

// TestVerify holds which certificates are accepted as trustd's.
func TestVerify(t *testing.T) {
	newCA := func() *pki.CA {
		ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519})
		if err != nil {
			t.Fatal(err)
		}

		return ca
	}

	ours, theirs := newCA(), newCA()
	addr := netip.MustParseAddr("10.5.0.2")
	byAddress := pki.LeafOptions{IPs: []netip.Addr{addr}, Server: true}
	byName := pki.LeafOptions{DNSNames: []string{"cp.example.org"}, Server: true}

	roots, err := pki.Pool(ours.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		chain []*x509.Certificate
		host  string
		err   string
	}{
		"by its address":                {chain: sign(t, ours, byAddress)},
		"by its address, found by name": {chain: sign(t, ours, byAddress), host: "cp.example.org"},
		"by its name":                   {chain: sign(t, ours, byName), host: "cp.example.org"},
		"another's name":                {chain: sign(t, ours, byName), host: "other.example.org", err: "not other.example.org"},
		"a name that was not asked for": {chain: sign(t, ours, byName), err: "10.5.0.2"},
		"another authority's":           {chain: sign(t, theirs, byAddress), err: "unknown authority"},
		"a client's": {
			chain: sign(t, ours, pki.LeafOptions{IPs: byAddress.IPs, Client: true}), err: "incompatible key usage",
		},
		"none": {err: "no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			err := verify(test.chain, roots, endpoint{host: test.host, addr: addr})
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
}

// TestEndpoints holds that each address is used once, and that a name that cannot be resolved is an error, but does not stop the
// others.
func TestEndpoints(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is looked up outside

	r := Request{
		Hosts: []string{"127.0.0.1", "cp.invalid"},
		Addresses: []netip.Addr{
			netip.MustParseAddr("10.5.0.2"), netip.MustParseAddr("::ffff:10.5.0.2"), netip.MustParseAddr("127.0.0.1"), {}, netip.MustParseAddr("fd00::2"),
		},
	}

	found, problems := r.endpoints(ctx)

	var got []string
	for _, e := range found {
		got = append(got, e.String())
	}

	if want := []string{"127.0.0.1 (127.0.0.1:50001)", "10.5.0.2:50001", "[fd00::2]:50001"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "resolve cp.invalid") {
		t.Errorf("got problems %v, want one of cp.invalid", problems)
	}
}
