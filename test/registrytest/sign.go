// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/pki/cosign"
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

	p.send(http.MethodPut, "manifests/"+strings.Replace(tag, ":", "-", 1)+".sig", cosign.ManifestType, bytes.NewReader(manifest))
}

// Signature returns the manifest of an image with a signature, and its blobs.
func Signature(tb testing.TB, repository, digest string, key crypto.Signer) (manifest []byte, blobs [][]byte) {
	tb.Helper()

	signed, err := cosign.SignImage(key, repository, digest)
	if err != nil {
		tb.Fatal(err)
	}

	return signed.Manifest, signed.Blobs
}

func hashOf(content []byte) v1.Hash {
	sum := sha256.Sum256(content)

	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}
