// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/netip"
)

// CSROptions describe a signing request.
type CSROptions struct {
	Kind         KeyKind
	CommonName   string
	Organization []string
	DNSNames     []string
	IPs          []netip.Addr

	// Key signs the request, PEM; by default a new key of Kind.
	Key []byte
}

// NewCSR creates a signing request and returns it with its private key, both PEM.
func NewCSR(opts CSROptions) (csrPEM, keyPEM []byte, err error) {
	keyPEM = opts.Key

	if len(keyPEM) == 0 {
		if keyPEM, _, err = NewKeyPair(opts.Kind); err != nil {
			return nil, nil, fmt.Errorf("create signing request: %w", err)
		}
	}

	key, err := ParseKey(keyPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("create signing request: %w", err)
	}

	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: opts.CommonName, Organization: opts.Organization},
		DNSNames:    opts.DNSNames,
		IPAddresses: netIPs(opts.IPs),
	}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("create signing request: %w", err)
	}

	return pem.EncodeToMemory(&pem.Block{Type: blockRequest, Bytes: der}), keyPEM, nil
}

// ParseCSR reads a signing request and checks that its sender has the private key.
func ParseCSR(text []byte) (*x509.CertificateRequest, error) {
	block, err := firstBlock(text, "a signing request", blockRequest, "NEW "+blockRequest)
	if err != nil {
		return nil, err
	}

	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read a signing request: %w", err)
	}

	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("read a signing request: signature: %w", err)
	}

	return csr, nil
}

// SignCSR signs the certificate for a signing request. The public key, the common name, the DNS names and the addresses are taken
// from the request; organization, usages and times only from opts, so that a request cannot obtain a role.
func (ca *CA) SignCSR(csrPEM []byte, opts LeafOptions) ([]byte, error) {
	csr, err := ParseCSR(csrPEM)
	if err != nil {
		return nil, err
	}

	opts.CommonName = csr.Subject.CommonName
	opts.DNSNames = csr.DNSNames
	opts.IPs = nil

	for _, ip := range csr.IPAddresses {
		if addr, ok := netip.AddrFromSlice(ip); ok {
			opts.IPs = append(opts.IPs, addr.Unmap())
		}
	}

	return ca.SignPublicKey(csr.PublicKey, opts)
}
