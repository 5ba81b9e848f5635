// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Sign uploads a signature of an image to a repository, as cosign makes it.
func (r *Registry) Sign(tb testing.TB, repository string, image v1.Image, key crypto.Signer) {
	tb.Helper()

	digest, err := image.Digest()
	if err != nil {
		tb.Fatal(err)
	}

	r.SignDigest(tb, repository, digest.String(), digest.String(), key)
}

// SignDigest uploads a signature with the tag for the digest of one image and a text that may be about another one.
func (r *Registry) SignDigest(tb testing.TB, repository, tag, signed string, key crypto.Signer) {
	tb.Helper()

	manifest, blobs := Signature(tb, repository, signed, key)
	p := pusher{tb, r.content, "/v2/" + repository + "/"}

	for _, blob := range blobs {
		p.blob(hashOf(blob), bytes.NewReader(blob))
	}

	p.send(http.MethodPut, "manifests/"+strings.Replace(tag, ":", "-", 1)+".sig", manifestType, bytes.NewReader(manifest))
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// Signature returns the manifest of an image with a signature, and its blobs.
func Signature(tb testing.TB, repository, digest string, key crypto.Signer) (manifest []byte, blobs [][]byte) {
	tb.Helper()

	payload := []byte(`{"critical":{"identity":{"docker-reference":"` + repository + `"},"image":{"docker-manifest-digest":"` + digest +
		`"},"type":"cosign container image signature"},"optional":null}`)

	sum := sha256.Sum256(payload)
	text, hash := sum[:], crypto.SHA256

	if _, whole := key.Public().(ed25519.PublicKey); whole {
		text, hash = payload, crypto.Hash(0)
	}

	signature, err := key.Sign(rand.Reader, text, hash)
	if err != nil {
		tb.Fatal(err)
	}

	type descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}

	config := []byte(`{"architecture":"","os":"","rootfs":{"type":"layers","diff_ids":["` + hashOf(payload).String() + `"]},"config":{}}`)

	manifest, err = json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": descriptor{"application/vnd.oci.image.config.v1+json", hashOf(config).String(), len(config), nil},
		"layers": []descriptor{{
			"application/vnd.dev.cosign.simplesigning.v1+json", hashOf(payload).String(), len(payload),
			map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)},
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}

	return manifest, [][]byte{payload, config}
}

func hashOf(content []byte) v1.Hash {
	sum := sha256.Sum256(content)

	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}
