// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// sealer encrypts values with AES-256-GCM. The place of a value is authenticated too, so values cannot be swapped. The first
// byte of a stored value says whether it is encrypted.
type sealer struct{ aead cipher.AEAD } // nil without a key

const (
	plain  = 0
	sealed = 1

	keySize = 32
)

func newSealer(key []byte) (*sealer, error) {
	if key == nil {
		return &sealer{}, nil
	}

	if len(key) != keySize {
		return nil, fmt.Errorf("the key has %d bytes, expected %d", len(key), keySize)
	}

	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}

	aead, err := cipher.NewGCMWithRandomNonce(block)

	return &sealer{aead}, err
}

// place binds a sealed value to where it is stored.
func place(parts [][]byte) (b []byte) {
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}

	return b
}

func (s *sealer) seal(value []byte, where ...[]byte) []byte {
	if s.aead == nil {
		return slices.Concat([]byte{plain}, value)
	}

	return s.aead.Seal([]byte{sealed}, nil, value, place(where))
}

var (
	errNoKey     = errors.New("it is encrypted: a key is needed")
	errNeedless  = errors.New("it is not encrypted, but a key was given")
	errDamaged   = errors.New("it is damaged, or was encrypted with another key")
	errEmptyItem = errors.New("it is empty")
)

func (s *sealer) open(stored []byte, where ...[]byte) ([]byte, error) {
	switch {
	case len(stored) == 0:
		return nil, errEmptyItem
	case stored[0] == plain && s.aead != nil:
		return nil, errNeedless
	case stored[0] == plain:
		return stored[1:], nil
	case stored[0] != sealed:
		return nil, fmt.Errorf("it is of the unknown form %d", stored[0])
	case s.aead == nil:
		return nil, errNoKey
	}

	value, err := s.aead.Open(nil, nil, stored[1:], place(where))
	if err != nil {
		return nil, errDamaged
	}

	return value, nil
}
