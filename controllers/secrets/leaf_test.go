// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func newCA(t *testing.T, kind pki.KeyKind) *pki.CA {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: kind, Organization: []string{"test"}})
	if err != nil {
		t.Fatal(err)
	}

	return ca
}

// TestKeepOrSign holds when a certificate is replaced.
func TestKeepOrSign(t *testing.T) {
	ca, other := newCA(t, pki.ECDSAP256), newCA(t, pki.ECDSAP256)
	now := time.Now()

	want := pki.LeafOptions{
		CommonName: "x", Organization: []string{"os:admin"}, DNSNames: []string{"b", "a"},
		IPs: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::1")}, Server: true, TTL: 24 * time.Hour,
	}

	held, _, err := keepOrSign(secrets.CertAndKey{}, ca, want, now)
	if err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		current secrets.CertAndKey
		ca      *pki.CA
		change  func(*pki.LeafOptions)
		now     time.Time
		keep    bool
	}{
		"nothing changed": {keep: true},
		"another order of names and addresses": {keep: true, change: func(o *pki.LeafOptions) {
			o.DNSNames, o.IPs = []string{"a", "b", "a"}, []netip.Addr{o.IPs[1], o.IPs[0]}
		}},
		"just before half of its life": {now: now.Add(12*time.Hour - 2*time.Minute), keep: true},
		"half of its life is over":     {now: now.Add(12 * time.Hour)},
		"the clock was set back":       {now: now.Add(-time.Hour)},
		"another authority":            {ca: other},
		"a name more":                  {change: func(o *pki.LeafOptions) { o.DNSNames = append(o.DNSNames, "c") }},
		"an address less":              {change: func(o *pki.LeafOptions) { o.IPs = o.IPs[:1] }},
		"another role":                 {change: func(o *pki.LeafOptions) { o.Organization = []string{"os:reader"} }},
		"another common name":          {change: func(o *pki.LeafOptions) { o.CommonName = "y" }},
		"another usage":                {change: func(o *pki.LeafOptions) { o.Client = true }},
		"the key of another":           {current: secrets.CertAndKey{Crt: held.Crt, Key: ca.PEM.Key}},
		"garbage":                      {current: secrets.CertAndKey{Crt: []byte("x"), Key: []byte("y")}},
	} {
		t.Run(name, func(t *testing.T) {
			opts, signer, at, current := want, ca, now, held

			if test.change != nil {
				test.change(&opts)
			}

			if test.ca != nil {
				signer = test.ca
			}

			if !test.now.IsZero() {
				at = test.now
			}

			if !test.current.Empty() {
				current = test.current
			}

			got, due, err := keepOrSign(current, signer, opts, at)
			if err != nil {
				t.Fatal(err)
			}

			if kept := got.Equal(current); kept != test.keep {
				t.Errorf("kept: got %v, want %v", kept, test.keep)
			}

			if due.IsZero() {
				t.Error("renewal: got no time")
			}
		})
	}
}
