// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// MaintenanceName is the subject of the self-signed certificate of a machine without a configuration.
const MaintenanceName = "maintenance-service.talos.dev"

// LeafOptions describe a certificate to be signed.
type LeafOptions struct {
	CommonName   string
	Organization []string
	DNSNames     []string
	IPs          []netip.Addr

	// Server and Client are the extended key usages; at least one is required.
	Server bool
	Client bool

	TTL       time.Duration // from now, required; limited by the end of the authority
	NotBefore time.Time     // default: now - Backdate
	Kind      KeyKind       // default: the authority's own kind
}

// Sign creates a key and a certificate for it.
func (ca *CA) Sign(opts LeafOptions) (Pair, error) {
	kind := opts.Kind

	if kind == SameAsCA {
		var err error

		if kind, err = KindOf(ca.Key.Public()); err != nil {
			return Pair{}, fmt.Errorf("sign certificate: %w", err)
		}
	}

	key, err := NewKey(kind)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate: %w", err)
	}

	crt, err := ca.SignPublicKey(key.Public(), opts)
	if err != nil {
		return Pair{}, err
	}

	keyPEM, err := EncodeKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate: %w", err)
	}

	return Pair{Crt: crt, Key: keyPEM}, nil
}

// SignPublicKey signs a certificate for an existing key. It ignores Kind.
func (ca *CA) SignPublicKey(public crypto.PublicKey, opts LeafOptions) ([]byte, error) {
	if !opts.Server && !opts.Client {
		return nil, errors.New("sign certificate: neither a server nor a client usage is requested")
	}

	if _, err := KindOf(public); err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}

	notBefore, notAfter, err := validity(opts.NotBefore, opts.TTL)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}

	if end := ca.Certificate.NotAfter; notAfter.After(end) {
		notAfter = end
	}

	if !notBefore.Before(notAfter) {
		return nil, fmt.Errorf("sign certificate: the authority %q ended at %s: create a new one",
			ca.Certificate.Subject, ca.Certificate.NotAfter.Format(time.RFC3339))
	}

	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: opts.CommonName, Organization: opts.Organization},
		DNSNames:              opts.DNSNames,
		IPAddresses:           netIPs(opts.IPs),
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}

	// Only RSA can carry the session key of an older TLS handshake.
	if _, ok := public.(*rsa.PublicKey); ok {
		template.KeyUsage |= x509.KeyUsageKeyEncipherment
	}

	if opts.Server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}

	if opts.Client {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}

	cert, err := create(template, ca.Certificate, public, ca.Key)
	if err != nil {
		return nil, err
	}

	return EncodeCertificate(cert), nil
}

// RenewAt returns when a certificate should be replaced: at half of its life.
func RenewAt(cert *x509.Certificate) time.Time {
	return cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) / 2)
}

func netIPs(addrs []netip.Addr) []net.IP {
	var ips []net.IP

	for _, addr := range addrs {
		ips = append(ips, net.IP(addr.Unmap().AsSlice()))
	}

	return ips
}
