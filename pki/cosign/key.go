// SPDX-License-Identifier: Apache-2.0

package cosign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// minRSA is the size of an RSA key, in bits, below which it is refused.
const minRSA = 2048

// Key is a public key that signs images.
type Key struct{ public crypto.PublicKey }

// ErrSignature is the error of a signature that is not the key's.
var ErrSignature = errors.New("the signature is not of this key")

// ParseKey reads a public key, or the certificate with it, in PEM. A certificate is only a form of the key: its time and its authority
// are not checked.
func ParseKey(text []byte) (Key, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return Key{}, errors.New("want a public key or its certificate in PEM (-----BEGIN PUBLIC KEY-----)")
	}

	if next, _ := pem.Decode(rest); next != nil {
		return Key{}, errors.New("want one public key or certificate, got several: write a rule for each")
	}

	var (
		public crypto.PublicKey
		err    error
	)

	switch block.Type {
	case "PUBLIC KEY":
		public, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "CERTIFICATE":
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
			public = cert.PublicKey
		}
	default:
		return Key{}, fmt.Errorf("want a public key or its certificate, got %q", block.Type)
	}

	if err != nil {
		return Key{}, fmt.Errorf("read a public key: %w", err)
	}

	switch k := public.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
	case *rsa.PublicKey:
		if k.N.BitLen() < minRSA {
			return Key{}, fmt.Errorf("an RSA key of %d bits is too short: want %d or more", k.N.BitLen(), minRSA)
		}
	default:
		return Key{}, fmt.Errorf("a key of type %T is not supported: want ECDSA, Ed25519 or RSA", public)
	}

	return Key{public}, nil
}

// Check returns an error unless the signature of the text is of the key.
func (k Key) Check(text, signature []byte) error {
	digest := sha256.Sum256(text)
	good := false

	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		good = ecdsa.VerifyASN1(public, digest[:], signature)
	case ed25519.PublicKey:
		good = ed25519.Verify(public, text, signature)
	case *rsa.PublicKey:
		good = rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature) == nil
	}

	if !good {
		return ErrSignature
	}

	return nil
}
