// SPDX-License-Identifier: Apache-2.0

package cosign

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Limits of what a registry may send.
const (
	// MaxManifest and MaxPayload are in bytes.
	MaxManifest = 1 << 20
	MaxPayload  = 64 << 10
	// maxSignatures of one image. Further ones are not looked at.
	maxSignatures = 50
)

const (
	payloadType         = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	critical            = "cosign container image signature"
)

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Tag returns the tag of the signatures of an image.
func Tag(digest string) (string, error) {
	if !digestForm.MatchString(digest) {
		return "", fmt.Errorf("digest %q is not SHA-256: its signatures cannot be found", digest)
	}

	return strings.Replace(digest, ":", "-", 1) + ".sig", nil
}

// IsTag reports whether a tag is one of signatures.
func IsTag(tag string) bool {
	hash, ok := strings.CutSuffix(tag, ".sig")

	return ok && digestForm.MatchString(strings.Replace(hash, "-", ":", 1))
}

// Signature is one signature of an image. Its payload is a blob.
type Signature struct {
	// MediaType, Digest and Size are those of the payload.
	MediaType, Digest string
	Size              int64
	// Bytes are the signature of the payload.
	Bytes []byte
}

// Signatures returns those that the manifest of an image of signatures has. Layers that are no signatures are left out.
func Signatures(manifest []byte) ([]Signature, error) {
	var m struct {
		Layers []struct {
			MediaType   string            `json:"mediaType"`
			Digest      string            `json:"digest"`
			Size        int64             `json:"size"`
			Annotations map[string]string `json:"annotations"`
		} `json:"layers"`
	}

	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("read the manifest of signatures: %w", err)
	}

	var all []Signature

	for _, layer := range m.Layers {
		if layer.MediaType != payloadType || !digestForm.MatchString(layer.Digest) || layer.Size <= 0 || layer.Size > MaxPayload {
			continue
		}

		bytes, err := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
		if err != nil || len(bytes) == 0 {
			continue
		}

		if all = append(all, Signature{layer.MediaType, layer.Digest, layer.Size, bytes}); len(all) == maxSignatures {
			break
		}
	}

	return all, nil
}

// HoldsSignatures reports whether a manifest is that of an image which has nothing but payloads of signatures as layers.
func HoldsSignatures(manifest []byte) bool {
	var m struct {
		Manifests []json.RawMessage `json:"manifests"`
		Layers    []struct {
			MediaType string `json:"mediaType"`
		} `json:"layers"`
	}

	if json.Unmarshal(manifest, &m) != nil || len(m.Manifests) > 0 || len(m.Layers) == 0 {
		return false
	}

	for _, layer := range m.Layers {
		if layer.MediaType != payloadType {
			return false
		}
	}

	return true
}

// ErrOtherImage is the error of a signature that is of another image.
var ErrOtherImage = errors.New("the signature is of another image")

// Check returns an error unless a payload is signed by the key, and says that it is for the image with the digest. The payload also names the
// image; as in cosign the name does not decide, so that a mirror may have another one.
func (s Signature) Check(key Key, payload []byte, digest string) error {
	if err := key.Check(payload, s.Bytes); err != nil {
		return err
	}

	var text struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
	}

	if err := json.Unmarshal(payload, &text); err != nil {
		return fmt.Errorf("read a signed text: %w", err)
	}

	if text.Critical.Type != critical {
		return fmt.Errorf("the signed text is of type %q, want %q", text.Critical.Type, critical)
	}

	if !digestForm.MatchString(digest) || text.Critical.Image.Digest != digest {
		return fmt.Errorf("%w: %.100s", ErrOtherImage, text.Critical.Image.Digest)
	}

	return nil
}
