// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Bridge signs a certificate for the key of another authority, with its name: a bridge. A server that sends it after its own certificate,
// which the other authority signed, is also accepted by clients that trust only ca. So an authority can be replaced before all clients
// know the next one. The bridge ends with the first of the two authorities. It is for servers only: who vouches for another authority must not
// let in its clients, and who has seen a bridge can use it as long as it is valid. So sign bridges to an authority that is as good as ca.
func (ca *CA) Bridge(other *x509.Certificate) (*x509.Certificate, error) {
	if !other.IsCA {
		return nil, fmt.Errorf("sign a bridge: certificate %q is not one of an authority", other.Subject)
	}

	template := &x509.Certificate{
		RawSubject:            other.RawSubject,
		SubjectKeyId:          other.SubjectKeyId, // to which the certificates that the other authority signed refer
		NotBefore:             later(ca.Certificate.NotBefore, other.NotBefore),
		NotAfter:              earlier(ca.Certificate.NotAfter, other.NotAfter),
		KeyUsage:              other.KeyUsage,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLen:            other.MaxPathLen,
		MaxPathLenZero:        other.MaxPathLenZero,
	}

	if !template.NotBefore.Before(template.NotAfter) {
		return nil, fmt.Errorf("sign a bridge from %q to %q: the lives of the two authorities do not overlap", ca.Certificate.Subject, other.Subject)
	}

	return create(template, ca.Certificate, other.PublicKey, ca.Key)
}

// Authority is the text of an authority: its certificate, and what may follow it.
type Authority struct {
	Certificate *x509.Certificate
	// Bridges are certificates for the same key that other authorities have signed. Servers send them; they are not trusted.
	Bridges []*x509.Certificate
	// Others are certificates of other authorities, which are trusted too.
	Others []*x509.Certificate
}

// ParseAuthority reads the certificates of an authority, PEM.
func ParseAuthority(text []byte) (Authority, error) {
	certs, err := ParseCertificates(text)
	if err != nil {
		return Authority{}, err
	}

	a := Authority{Certificate: certs[0]}

	for _, cert := range certs[1:] {
		if SameKey(cert, a.Certificate) {
			a.Bridges = append(a.Bridges, cert)
		} else {
			a.Others = append(a.Others, cert)
		}
	}

	return a, nil
}

// Chain returns the bridges as PEM; it is empty if there are none.
func (a Authority) Chain() []byte { return EncodeCertificates(a.Bridges) }

// Trusted returns the certificates without the bridges.
func (a Authority) Trusted() []*x509.Certificate {
	return append([]*x509.Certificate{a.Certificate}, a.Others...)
}

// Fingerprint returns the SHA-256 sum of a certificate, in hex.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)

	return hex.EncodeToString(sum[:])
}

// SameKey reports whether two certificates are for the same key.
func SameKey(a, b *x509.Certificate) bool {
	public, ok := a.PublicKey.(interface{ Equal(crypto.PublicKey) bool })

	return ok && public.Equal(b.PublicKey)
}

// EncodeCertificates writes certificates as one PEM text.
func EncodeCertificates(certs []*x509.Certificate) []byte {
	var out []byte

	for _, cert := range certs {
		out = append(out, EncodeCertificate(cert)...)
	}

	return slices.Clip(out)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}

	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}

	return b
}
