// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/seed-59268b81/talos/pki/cosign"
)

// Sign adds a signature of each image of a layout to it, as an image with the name that it has in a registry. Equal layouts and keys have
// equal signatures.
func Sign(dir string, key crypto.Signer) error {
	images, err := ReadIndex(dir)
	if err != nil {
		return err
	}

	all := images

	for _, image := range images {
		signature, err := signature(filepath.Join(dir, "blobs", "sha256"), image, key)
		if err != nil {
			return fmt.Errorf("sign image %s: %w", image.Annotations[RefName], err)
		}

		all = append(all, signature)
	}

	return writeIndex(dir, all)
}

// signature writes the signature of an image to the blobs of a layout, and returns its descriptor.
func signature(blobs string, image v1.Descriptor, key crypto.Signer) (v1.Descriptor, error) {
	name, err := reference.ParseNormalizedNamed(image.Annotations[RefName])
	if err != nil {
		return v1.Descriptor{}, err
	}

	repository := reference.TrimNamed(name).Name()

	tag, err := cosign.Tag(image.Digest.String())
	if err != nil {
		return v1.Descriptor{}, err
	}

	signed, err := cosign.SignImage(key, repository, image.Digest.String())
	if err != nil {
		return v1.Descriptor{}, err
	}

	var errs []error

	for _, blob := range signed.Blobs {
		_, err := writeBlob(blobs, blob)
		errs = append(errs, err)
	}

	out, err := writeBlob(blobs, signed.Manifest)
	out.MediaType = types.OCIManifestSchema1
	out.Annotations = map[string]string{RefName: repository + ":" + tag}

	return out, errors.Join(append(errs, err)...)
}

// writeBlob writes a blob, and returns its digest and size.
func writeBlob(blobs string, content []byte) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		return v1.Descriptor{}, err
	}

	return v1.Descriptor{Digest: digest, Size: size}, os.WriteFile(filepath.Join(blobs, digest.Hex), content, 0o644)
}
