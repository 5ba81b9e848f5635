// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// authority signs certificates; path is its key in the configuration, for errors.
type authority struct {
	path string
	secrets.CertAndKey
}

// leaf is a certificate that is kept or replaced. A server's is followed by the bridges of its authority, for clients that know only
// another one.
type leaf struct {
	pair *secrets.CertAndKey
	want pki.LeafOptions
}

// renew keeps or signs each certificate, and returns when the first is due.
func renew(from authority, lifetime time.Duration, now time.Time, leaves ...leaf) (due time.Time, err error) {
	ca, err := pki.ParseCA(from.Crt, from.Key)
	if err != nil {
		return now, fmt.Errorf("%s: %w", from.path, err)
	}

	issuer, err := pki.ParseAuthority(from.Crt)
	if err != nil {
		return now, fmt.Errorf("%s: %w", from.path, err)
	}

	due = now.Add(lifetime)

	for _, l := range leaves {
		l.want.TTL = lifetime

		pair, at, err := keepOrSign(*l.pair, ca, l.want, now)
		if err != nil {
			return now, err
		}

		if l.want.Server {
			if pair.Crt, err = followedBy(pair.Crt, issuer.Chain()); err != nil {
				return now, err
			}
		}

		*l.pair, due = pair, earlier(due, at)
	}

	return due, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}

	return a
}

// keepOrSign returns the current certificate if it still fits, or a new one, and when to check again: at half of its life.
func keepOrSign(current secrets.CertAndKey, ca *pki.CA, want pki.LeafOptions, now time.Time) (secrets.CertAndKey, time.Time, error) {
	want.DNSNames = sortedSet(want.DNSNames)
	want.IPs = sortedIPs(want.IPs)

	if renew, ok := answers(current, ca.Certificate, want, now); ok {
		return current, renew, nil
	}

	pair, err := ca.Sign(want)
	if err != nil {
		return secrets.CertAndKey{}, time.Time{}, err
	}

	cert, err := pki.ParseCertificate(pair.Crt)
	if err != nil {
		return secrets.CertAndKey{}, time.Time{}, err
	}

	return secrets.CertAndKey(pair), pki.RenewAt(cert), nil
}

// answers reports whether a certificate may be kept, and until when. It must be replaced when the clock is before its start, or past
// half of its life.
func answers(current secrets.CertAndKey, ca *x509.Certificate, want pki.LeafOptions, now time.Time) (time.Time, bool) {
	if current.Empty() {
		return time.Time{}, false
	}

	held, err := pki.Pair(current).TLS()
	if err != nil {
		return time.Time{}, false
	}

	cert := held.Leaf
	renew := pki.RenewAt(cert)

	ok := !now.Before(cert.NotBefore) && now.Before(renew) &&
		cert.CheckSignatureFrom(ca) == nil &&
		cert.Subject.CommonName == want.CommonName &&
		slices.Equal(sortedSet(cert.Subject.Organization), sortedSet(want.Organization)) &&
		slices.Equal(sortedSet(cert.DNSNames), want.DNSNames) &&
		slices.Equal(certIPs(cert), want.IPs) &&
		slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageServerAuth) == want.Server &&
		slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageClientAuth) == want.Client

	return renew, ok
}

func certIPs(cert *x509.Certificate) []netip.Addr {
	var ips []netip.Addr

	for _, ip := range cert.IPAddresses {
		if addr, ok := netip.AddrFromSlice(ip); ok {
			ips = append(ips, addr)
		}
	}

	return sortedIPs(ips)
}

func sortedSet(in []string) []string {
	out := slices.DeleteFunc(slices.Clone(in), func(s string) bool { return s == "" })
	slices.Sort(out)

	return slices.Compact(out)
}

func sortedIPs(in []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(in))

	for _, ip := range in {
		if ip.IsValid() {
			out = append(out, ip.Unmap().WithZone(""))
		}
	}

	slices.SortFunc(out, netip.Addr.Compare)

	return slices.Compact(out)
}

// followedBy returns the first certificate of a text, followed by a chain.
func followedBy(crt, chain []byte) ([]byte, error) {
	cert, err := pki.ParseCertificate(crt)
	if err != nil {
		return nil, err
	}

	return append(pki.EncodeCertificate(cert), chain...), nil
}
