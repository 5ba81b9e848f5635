// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// KeyKind is an algorithm and size of private key.
type KeyKind int

// The kinds of key in use. The zero value means "the same kind as the authority that signs".
const (
	SameAsCA KeyKind = iota
	Ed25519
	ECDSAP256
	RSA2048
	RSA4096
)

func (k KeyKind) String() string {
	names := [...]string{"same as CA", "Ed25519", "ECDSA P-256", "RSA 2048", "RSA 4096"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("KeyKind(%d)", int(k))
	}

	return names[k]
}

// PEM block types in existing configurations.
const (
	blockCertificate = "CERTIFICATE"
	blockRequest     = "CERTIFICATE REQUEST"
	blockPublicKey   = "PUBLIC KEY"
	blockPKCS8       = "PRIVATE KEY"
	blockEd25519     = "ED25519 PRIVATE KEY" // PKCS#8 inside
	blockEC          = "EC PRIVATE KEY"
	blockRSA         = "RSA PRIVATE KEY"
)

// NewKey creates a private key of the given kind.
func NewKey(kind KeyKind) (crypto.Signer, error) {
	var (
		key crypto.Signer
		err error
	)

	switch kind {
	case Ed25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case ECDSAP256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case RSA2048:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case RSA4096:
		key, err = rsa.GenerateKey(rand.Reader, 4096)
	default:
		return nil, fmt.Errorf("create key: %s is not a kind of key", kind)
	}

	if err != nil {
		return nil, fmt.Errorf("create %s key: %w", kind, err)
	}

	return key, nil
}

// KindOf returns the kind of a key pair by its public key.
func KindOf(public crypto.PublicKey) (KeyKind, error) {
	switch key := public.(type) {
	case ed25519.PublicKey:
		return Ed25519, nil
	case *ecdsa.PublicKey:
		return ECDSAP256, nil
	case *rsa.PublicKey:
		if key.N.BitLen() <= 2048 {
			return RSA2048, nil
		}

		return RSA4096, nil
	default:
		return 0, fmt.Errorf("a public key of type %T is not supported: use Ed25519, ECDSA or RSA", public)
	}
}

// EncodeKey writes a private key as PEM.
func EncodeKey(key crypto.Signer) ([]byte, error) {
	var (
		der   []byte
		err   error
		block string
	)

	switch key := key.(type) {
	case ed25519.PrivateKey:
		block = blockEd25519
		der, err = x509.MarshalPKCS8PrivateKey(key)
	case *ecdsa.PrivateKey:
		block = blockEC
		der, err = x509.MarshalECPrivateKey(key)
	case *rsa.PrivateKey:
		block = blockRSA
		der = x509.MarshalPKCS1PrivateKey(key)
	default:
		return nil, fmt.Errorf("encode private key: type %T is not supported", key)
	}

	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}

	return pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der}), nil
}

// EncodePublicKey writes a public key as PEM (PKIX).
func EncodePublicKey(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}

	return pem.EncodeToMemory(&pem.Block{Type: blockPublicKey, Bytes: der}), nil
}

// ParseKey reads the first private key of a PEM text.
func ParseKey(text []byte) (crypto.Signer, error) {
	block, err := firstBlock(text, "a private key", blockPKCS8, blockEd25519, blockEC, blockRSA)
	if err != nil {
		return nil, err
	}

	var key any

	switch block.Type {
	case blockEC:
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case blockRSA:
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}

	if err != nil {
		return nil, fmt.Errorf("read a private key from a %q PEM block: %w", block.Type, err)
	}

	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("read a private key from a %q PEM block: type %T cannot sign", block.Type, key)
	}

	if _, err := KindOf(signer.Public()); err != nil {
		return nil, fmt.Errorf("read a private key from a %q PEM block: %w", block.Type, err)
	}

	return signer, nil
}

var errNotPEM = errors.New("not PEM: want a text that starts with \"-----BEGIN\"")
