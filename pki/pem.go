// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
)

// Pair is a certificate and its private key, both PEM. Intermediate certificates may follow the
// certificate.
type Pair struct {
	Crt []byte
	Key []byte
}

// parse reads the first certificate and the key, and checks that they belong together.
func (p Pair) parse() (*x509.Certificate, crypto.Signer, error) {
	cert, err := ParseCertificate(p.Crt)
	if err != nil {
		return nil, nil, err
	}

	key, err := ParseKey(p.Key)
	if err != nil {
		return nil, nil, err
	}

	if public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(key.Public()) {
		return nil, nil, fmt.Errorf("certificate %q and the private key do not belong together", cert.Subject)
	}

	return cert, key, nil
}

// TLS converts the pair for crypto/tls, and checks that key and certificate belong together.
func (p Pair) TLS() (tls.Certificate, error) {
	cert, key, err := p.parse()
	if err != nil {
		return tls.Certificate{}, err
	}

	certs, err := ParseCertificates(p.Crt)
	if err != nil {
		return tls.Certificate{}, err
	}

	out := tls.Certificate{PrivateKey: key, Leaf: cert}

	for _, c := range certs {
		out.Certificate = append(out.Certificate, c.Raw)
	}

	return out, nil
}

// EncodeCertificate writes a certificate as PEM.
func EncodeCertificate(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: cert.Raw})
}

// ParseCertificate reads the first certificate of a PEM text.
func ParseCertificate(text []byte) (*x509.Certificate, error) {
	block, err := firstBlock(text, "a certificate", blockCertificate)
	if err != nil {
		return nil, err
	}

	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read a certificate: %w", err)
	}

	return cert, nil
}

// ParseCertificates reads all certificates of a PEM text, which must have at least one.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate

	for rest := text; ; {
		var block *pem.Block

		if block, rest = pem.Decode(rest); block == nil {
			break
		}

		if block.Type != blockCertificate {
			continue
		}

		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read certificate number %d: %w", len(certs)+1, err)
		}

		certs = append(certs, cert)
	}

	if len(certs) == 0 {
		_, err := firstBlock(text, "a certificate", blockCertificate)

		return nil, err
	}

	return certs, nil
}

// Pool returns a pool with the certificates of several PEM texts.
func Pool(texts ...[]byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()

	for i, text := range texts {
		certs, err := ParseCertificates(text)
		if err != nil {
			return nil, fmt.Errorf("trusted certificate %d: %w", i+1, err)
		}

		for _, cert := range certs {
			pool.AddCert(cert)
		}
	}

	return pool, nil
}

// firstBlock returns the first PEM block of one of the types; what names it in errors.
func firstBlock(text []byte, what string, types ...string) (*pem.Block, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("read %s: the text is empty", what)
	}

	var seen []string

	for rest := text; ; {
		var block *pem.Block

		if block, rest = pem.Decode(rest); block == nil {
			break
		}

		if slices.Contains(types, block.Type) {
			return block, nil
		}

		seen = append(seen, fmt.Sprintf("%q", block.Type))
	}

	if len(seen) == 0 {
		return nil, fmt.Errorf("read %s: %w", what, errNotPEM)
	}

	return nil, fmt.Errorf("read %s: the PEM text contains %s, want %q", what, strings.Join(seen, ", "), types)
}
