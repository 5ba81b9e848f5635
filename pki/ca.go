// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"time"
)

const (
	// CALifetime is how long an authority lives unless the caller says otherwise.
	CALifetime = 87600 * time.Hour

	// Backdate is how long before now a certificate starts, so that a machine with a slow clock accepts it.
	Backdate = time.Minute
)

// CA is a certificate authority that can sign.
type CA struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
	PEM         Pair
}

// CAOptions describe a new authority. The zero value of everything but Kind has a default.
type CAOptions struct {
	Kind         KeyKind
	Organization []string
	CommonName   string
	NotBefore    time.Time     // default: now - Backdate
	TTL          time.Duration // from now; default: CALifetime
}

// NewCA creates a self-signed authority.
func NewCA(opts CAOptions) (*CA, error) {
	key, err := NewKey(opts.Kind)
	if err != nil {
		return nil, fmt.Errorf("create CA: %w", err)
	}

	if opts.TTL == 0 {
		opts.TTL = CALifetime
	}

	notBefore, notAfter, err := validity(opts.NotBefore, opts.TTL)
	if err != nil {
		return nil, fmt.Errorf("create CA: %w", err)
	}

	template := &x509.Certificate{
		Subject:               pkix.Name{Organization: opts.Organization, CommonName: opts.CommonName},
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}

	cert, err := create(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create CA: %w", err)
	}

	keyPEM, err := EncodeKey(key)
	if err != nil {
		return nil, fmt.Errorf("create CA: %w", err)
	}

	return &CA{Certificate: cert, Key: key, PEM: Pair{Crt: EncodeCertificate(cert), Key: keyPEM}}, nil
}

// ParseCA reads an authority and checks that it can sign: the certificate is that of a CA, and the key belongs to it.
func ParseCA(crtPEM, keyPEM []byte) (*CA, error) {
	pair := Pair{Crt: crtPEM, Key: keyPEM}

	cert, key, err := pair.parse()
	if err != nil {
		return nil, fmt.Errorf("read CA: %w", err)
	}

	if !cert.IsCA {
		return nil, fmt.Errorf("read CA: certificate %q is not one of an authority (its basic constraints have CA: no)", cert.Subject)
	}

	return &CA{Certificate: cert, Key: key, PEM: pair}, nil
}

// validity returns the start and end of a certificate.
func validity(notBefore time.Time, ttl time.Duration) (time.Time, time.Time, error) {
	if ttl <= 0 {
		return time.Time{}, time.Time{}, fmt.Errorf("a lifetime of %s is not positive", ttl)
	}

	now := time.Now()

	if notBefore.IsZero() {
		notBefore = now.Add(-Backdate)
	}

	notAfter := now.Add(ttl)
	if notBefore.After(now) {
		notAfter = notBefore.Add(ttl)
	}

	return notBefore.UTC(), notAfter.UTC(), nil
}

// create signs the template and returns the parsed certificate.
func create(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("sign certificate %q: %w", template.Subject, err)
	}

	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse certificate %q: %w", template.Subject, err)
	}

	return cert, nil
}
