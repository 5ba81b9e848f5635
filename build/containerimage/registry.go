// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/build/source"
)

// registryStep writes the pause image in the form that `agnhost fake-registry-server` reads; see writeRegistry.
func registryStep(root string) graph.Step {
	return graph.Step{
		Name:   "pause-registry",
		About:  "the image that agnhost's registry serves",
		Needs:  []string{"image-pause"},
		Inputs: source.Inputs(root, []string{"containerimage/registry.go"}),
		Run: func(_ context.Context, w *graph.Work) error {
			return writeRegistry(w.Needs["image-pause"].Dir, filepath.Join(w.Dir, "var/registry/pause"))
		},
	}
}

// writeRegistry writes the image of a layout to a folder /var/registry/NAME. A tag is a file manifests/TAG with a digest; manifests
// and blobs are stored by digest.
func writeRegistry(layout, dir string) error {
	index, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		return err
	}

	top, _, err := v1.SHA256(bytes.NewReader(index))
	if err != nil {
		return err
	}

	put := func(kind, hex string, content []byte) error {
		to := filepath.Join(dir, kind, "sha256", hex[:2], hex, "data")

		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, 0o644))
	}

	if err := errors.Join(
		put("manifests", top.Hex, index),
		os.WriteFile(filepath.Join(dir, "manifests/testing"), []byte(top.String()+"\n"), 0o644),
	); err != nil {
		return err
	}

	images, err := ociimage.ReadIndex(layout)
	if err != nil {
		return err
	}

	blobs, err := filepath.Glob(filepath.Join(layout, "blobs/sha256/*"))
	if err != nil {
		return err
	}

	for _, blob := range blobs {
		raw, err := os.ReadFile(blob)
		if err != nil {
			return err
		}

		kind, hex := "blobs", filepath.Base(blob)
		if slices.ContainsFunc(images, func(d v1.Descriptor) bool { return d.Digest.Hex == hex }) {
			kind = "manifests"
		}

		if err := put(kind, hex, raw); err != nil {
			return err
		}
	}

	return nil
}
