// SPDX-License-Identifier: Apache-2.0

package pki

import "fmt"

// ServiceAccountKind is the kind of key that signs Kubernetes service account tokens. RS256 is the only
// algorithm that every consumer of these tokens (OIDC federation included) accepts. The API server
// signs a token for each pod: with 4096 bits that takes seven times as long, and the key is rotated
// long before 2048 bits are broken.
const ServiceAccountKind = RSA2048

// NewKeyPair creates a bare key pair: the private and the public key, both PEM.
func NewKeyPair(kind KeyKind) (private, public []byte, err error) {
	key, err := NewKey(kind)
	if err != nil {
		return nil, nil, err
	}

	if private, err = EncodeKey(key); err != nil {
		return nil, nil, err
	}

	if public, err = EncodePublicKey(key.Public()); err != nil {
		return nil, nil, err
	}

	return private, public, nil
}

// PublicKeyOf returns the public key of a private key, both PEM.
func PublicKeyOf(private []byte) ([]byte, error) {
	key, err := ParseKey(private)
	if err != nil {
		return nil, fmt.Errorf("derive public key: %w", err)
	}

	return EncodePublicKey(key.Public())
}
