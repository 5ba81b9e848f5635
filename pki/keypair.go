// SPDX-License-Identifier: Apache-2.0

package pki

import "fmt"

// ServiceAccountKind is the kind of key that signs Kubernetes service account tokens. RS256 is the one
// algorithm that every consumer of those tokens (OIDC federation included) takes; the API server signs
// a token for each pod, and at 4096 bits that costs seven times as much for a key that is rotated long
// before 2048 bits fall.
const ServiceAccountKind = RSA2048

// NewKeyPair makes a bare key pair: the private key and its public half, both PEM.
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

// PublicKeyOf returns the public half of a private key, PEM to PEM.
func PublicKeyOf(private []byte) ([]byte, error) {
	key, err := ParseKey(private)
	if err != nil {
		return nil, fmt.Errorf("taking a public key: %w", err)
	}

	return EncodePublicKey(key.Public())
}
