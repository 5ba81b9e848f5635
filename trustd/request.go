// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Limits of a request. A node has a few names and, with many networks, some dozens of addresses.
const (
	maxRequest   = 16 << 10
	maxNames     = 64
	maxAddresses = 256

	minRSA, maxRSA = 2048, 4096
)

// Request is a signing request whose sender has the private key. It omits an organization, usages and other kinds of names.
type Request struct {
	Key        crypto.PublicKey
	CommonName string
	DNSNames   []string
	Addresses  []netip.Addr
}

// ParseRequest reads a PEM signing request. It checks the key before the signature, which takes long for a huge key.
func ParseRequest(text []byte) (*Request, error) {
	switch {
	case len(text) == 0:
		return nil, errors.New("the signing request is empty")
	case len(text) > maxRequest:
		return nil, fmt.Errorf("the signing request has %d bytes, want at most %d", len(text), maxRequest)
	}

	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(`the signing request is not PEM: want a text that starts with "-----BEGIN CERTIFICATE REQUEST-----"`)
	}

	if block.Type != "CERTIFICATE REQUEST" && block.Type != "NEW CERTIFICATE REQUEST" {
		return nil, fmt.Errorf("the PEM text holds a %.40q, want a certificate request", block.Type)
	}

	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the signing request: %w", err)
	}

	if err := checkKey(csr.PublicKey); err != nil {
		return nil, err
	}

	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the signing request is not signed with its own key: %w", err)
	}

	return requestOf(csr)
}

func requestOf(csr *x509.CertificateRequest) (*Request, error) {
	if n := len(csr.DNSNames); n > maxNames {
		return nil, fmt.Errorf("the signing request has %d names, want at most %d", n, maxNames)
	}

	if n := len(csr.IPAddresses); n > maxAddresses {
		return nil, fmt.Errorf("the signing request has %d addresses, want at most %d", n, maxAddresses)
	}

	r := &Request{Key: csr.PublicKey, CommonName: csr.Subject.CommonName, DNSNames: csr.DNSNames}

	if r.CommonName != "" {
		if err := checkName(r.CommonName); err != nil {
			return nil, fmt.Errorf("common name: %w", err)
		}
	}

	for _, name := range r.DNSNames {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}

	for _, ip := range csr.IPAddresses {
		addr, ok := netip.AddrFromSlice(ip)
		if addr = addr.Unmap(); !ok || addr.IsUnspecified() || addr.IsMulticast() {
			return nil, fmt.Errorf("address %s cannot be a node's", ip)
		}

		r.Addresses = append(r.Addresses, addr)
	}

	return r, nil
}

func checkKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case ed25519.PublicKey, *ecdsa.PublicKey:
		return nil
	case *rsa.PublicKey:
		if n := key.N.BitLen(); n < minRSA || n > maxRSA {
			return fmt.Errorf("the key of the signing request is RSA with %d bits, want %d to %d", n, minRSA, maxRSA)
		}

		return nil
	default:
		return fmt.Errorf("the key of the signing request is a %T, want Ed25519, ECDSA or RSA", key)
	}
}

// checkName accepts names of hosts, without wildcards.
func checkName(name string) error {
	if len(name) > 253 {
		return fmt.Errorf("name %.40q… has %d characters, want at most 253", name, len(name))
	}

	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, notOfName) {
			return fmt.Errorf("name %q is not the name of a host", name)
		}
	}

	return nil
}

func notOfName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}
