// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// RefName is the annotation with an image's full reference in a layout's index.
const RefName = "org.opencontainers.image.ref.name"

// Image is the content of an image.
type Image struct {
	// Reference is the full name, with registry and tag.
	Reference string
	// Layers are the layers, lowest first.
	Layers []Tree
	// Config is the image's configuration.
	Config v1.Config
}

// Write writes a layout with one image, for linux/amd64, to dir.
func Write(dir string, img Image) error {
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}

	config := v1.ConfigFile{
		Architecture: "amd64", OS: "linux",
		Config: img.Config,
		RootFS: v1.RootFS{Type: "layers"},
	}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}

	for _, tree := range img.Layers {
		layer, diff, err := writeLayer(blobs, tree)
		if err != nil {
			return fmt.Errorf("image %s: %w", img.Reference, err)
		}

		manifest.Layers = append(manifest.Layers, layer)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, diff)
	}

	var err error

	if manifest.Config, err = writeJSON(blobs, types.OCIConfigJSON, config); err != nil {
		return err
	}

	desc, err := writeJSON(blobs, types.OCIManifestSchema1, manifest)
	if err != nil {
		return err
	}

	desc.Platform = &v1.Platform{Architecture: config.Architecture, OS: config.OS}
	desc.Annotations = map[string]string{RefName: img.Reference}

	return writeIndex(dir, []v1.Descriptor{desc})
}

// Merge merges layouts into one in dir, with hard links to their blobs. Two images with the same reference are an error.
func Merge(dir string, layouts ...string) error {
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}

	var all []v1.Descriptor

	for _, layout := range layouts {
		index, err := ReadIndex(layout)
		if err != nil {
			return err
		}

		all = append(all, index...)

		found, err := filepath.Glob(filepath.Join(layout, "blobs", "sha256", "*"))
		if err != nil {
			return err
		}

		for _, blob := range found {
			err := os.Link(blob, filepath.Join(blobs, filepath.Base(blob)))
			if err != nil && !errors.Is(err, fs.ErrExist) { // images share layers
				return err
			}
		}
	}

	return writeIndex(dir, all)
}

// ReadIndex returns the descriptors of the images of a layout.
func ReadIndex(dir string) ([]v1.Descriptor, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return nil, err
	}

	index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "index.json"), err)
	}

	return index.Manifests, nil
}

func writeIndex(dir string, images []v1.Descriptor) error {
	slices.SortFunc(images, func(a, b v1.Descriptor) int {
		return strings.Compare(a.Annotations[RefName], b.Annotations[RefName])
	})

	for i := 1; i < len(images); i++ {
		if name := images[i].Annotations[RefName]; name == images[i-1].Annotations[RefName] {
			return fmt.Errorf("layout: duplicate image %s", name)
		}
	}

	raw, err := json.MarshalIndent(v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: images,
	}, "", "  ")
	if err != nil {
		return err
	}

	return errors.Join(
		os.WriteFile(filepath.Join(dir, "index.json"), raw, 0o644),
		os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644),
	)
}

func writeJSON(blobs string, media types.MediaType, value any) (v1.Descriptor, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return v1.Descriptor{}, err
	}

	out, err := writeBlob(blobs, raw)
	out.MediaType = media

	return out, err
}
