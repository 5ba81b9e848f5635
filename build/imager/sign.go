// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"crypto"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/pki/cosign"
)

// encryptedKeys are the types of PEM blocks of cosign generate-key-pair and import-key-pair.
var encryptedKeys = []string{"ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"}

// ErrPassword is the error of a key that the password does not decrypt.
var ErrPassword = errors.New("the password does not decrypt the key")

// ReadKey reads a private key, in PEM, that signs images: the file cosign.key of cosign generate-key-pair, which has a password, or an ECDSA or
// RSA key without one.
func ReadKey(text []byte, password string) (crypto.Signer, error) {
	if block, _ := pem.Decode(text); block != nil && slices.Contains(encryptedKeys, block.Type) {
		plain, err := encrypted.Decrypt(block.Bytes, []byte(password))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPassword, err)
		}

		text = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: plain})
	}

	key, err := pki.ParseKey(text)
	if err != nil {
		return nil, err
	}

	if _, is := key.(ed25519.PrivateKey); is {
		return nil, errors.New("an Ed25519 key cannot sign files: want an ECDSA or RSA key")
	}

	return key, nil
}

// signAll signs files, and returns them with their signatures.
func signAll(files []string, key crypto.Signer) (all []string, err error) {
	for _, file := range files {
		if err := sign(file, key); err != nil {
			return nil, fmt.Errorf("sign %s: %w", file, err)
		}

		all = append(all, file, file+signatureEnding)
	}

	return all, nil
}

const signatureEnding = ".sig"

func sign(file string, key crypto.Signer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()

	signature, err := cosign.SignFile(key, f)
	if err != nil {
		return err
	}

	return os.WriteFile(file+signatureEnding, []byte(signature), 0o644)
}
