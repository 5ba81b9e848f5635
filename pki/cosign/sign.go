// SPDX-License-Identifier: Apache-2.0

package cosign

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The media types of an image of signatures.
const (
	ManifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
)

// Signed is an image of one signature: its manifest, and the blobs that the manifest names.
type Signed struct {
	Manifest []byte
	Blobs    [][]byte
}

// SignImage signs the image of a repository that has a digest. Equal keys and images have equal signatures. The result belongs into the same
// repository, with the tag that Tag returns.
func SignImage(key crypto.Signer, repository, digest string) (Signed, error) {
	if !digestForm.MatchString(digest) {
		return Signed{}, fmt.Errorf("digest %q is not SHA-256", digest)
	}

	var text struct {
		Critical struct {
			Identity struct {
				Reference string `json:"docker-reference"`
			} `json:"identity"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
		Optional map[string]string `json:"optional"`
	}

	text.Critical.Identity.Reference, text.Critical.Image.Digest, text.Critical.Type = repository, digest, critical

	payload, err := json.Marshal(text)
	if err != nil {
		return Signed{}, err
	}

	signature, err := sign(key, payload)
	if err != nil {
		return Signed{}, fmt.Errorf("sign %s@%s: %w", repository, digest, err)
	}

	type descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}

	config := []byte(`{"architecture":"","os":"","rootfs":{"type":"layers","diff_ids":["` + digestOf(payload) + `"]},"config":{}}`)

	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": ManifestType,
		"config": descriptor{configType, digestOf(config), len(config), nil},
		"layers": []descriptor{{
			payloadType, digestOf(payload), len(payload), map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)},
		}},
	})

	return Signed{manifest, [][]byte{payload, config}}, err
}

// SignFile signs a file as cosign sign-blob does, for cosign verify-blob --signature. The signature is in Base64.
func SignFile(key crypto.Signer, file io.Reader) (string, error) {
	if _, whole := key.Public().(ed25519.PublicKey); whole {
		return "", errors.New("an Ed25519 key signs a file as a whole, not its digest: want an ECDSA or RSA key")
	}

	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}

	signature, err := key.Sign(nil, h.Sum(nil), crypto.SHA256)

	return base64.StdEncoding.EncodeToString(signature), err
}

// sign signs a text. Without random numbers, the signatures of all kinds of keys are deterministic.
func sign(key crypto.Signer, text []byte) ([]byte, error) {
	if _, whole := key.Public().(ed25519.PublicKey); whole {
		return key.Sign(nil, text, crypto.Hash(0))
	}

	digest := sha256.Sum256(text)

	return key.Sign(nil, digest[:], crypto.SHA256)
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)

	return "sha256:" + hex.EncodeToString(sum[:])
}
