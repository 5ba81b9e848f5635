// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/build/source"
)

// registryStep lays the pause image out as `agnhost fake-registry-server` reads it: below /var/registry/NAME, tags in
// manifests/TAG, which hold a digest, and everything else by its digest.
func registryStep(root string) graph.Step {
	const dir = "var/registry/pause"

	return graph.Step{
		Name:  "pause-registry",
		About: "the image that agnhost's registry serves",
		Needs: []string{"image-pause"},
		Inputs: func(context.Context, graph.Results) ([]string, error) {
			hash, err := source.Of(root, "containerimage/registry.go")

			return []string{hash}, err
		},
		Run: func(_ context.Context, w *graph.Work) error {
			layout := w.Needs["image-pause"].Dir

			index, err := os.ReadFile(filepath.Join(layout, "index.json"))
			if err != nil {
				return err
			}

			top, _, err := v1.SHA256(bytes.NewReader(index))
			if err != nil {
				return err
			}

			put := func(kind, digest string, content []byte) error {
				hex := strings.TrimPrefix(digest, "sha256:")
				to := filepath.Join(w.Dir, dir, kind, "sha256", hex[:2], hex, "data")

				if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
					return err
				}

				return os.WriteFile(to, content, 0o644)
			}

			if err := put("manifests", top.String(), index); err != nil {
				return err
			}

			if err := os.WriteFile(filepath.Join(w.Dir, dir, "manifests/testing"), []byte(top.String()+"\n"), 0o644); err != nil {
				return err
			}

			return copyBlobs(layout, put)
		},
	}
}

// copyBlobs gives each blob of a layout to put: the manifests of its images, and all others.
func copyBlobs(layout string, put func(kind, digest string, content []byte) error) error {
	descriptors, err := ociimage.ReadIndex(layout)
	if err != nil {
		return err
	}

	kinds := map[string]string{}
	for _, d := range descriptors {
		kinds[d.Digest.Hex] = "manifests"
	}

	blobs, err := os.ReadDir(filepath.Join(layout, "blobs/sha256"))
	if err != nil {
		return err
	}

	for _, b := range blobs {
		raw, err := os.ReadFile(filepath.Join(layout, "blobs/sha256", b.Name()))
		if err != nil {
			return err
		}

		kind := "blobs"
		if kinds[b.Name()] != "" {
			kind = kinds[b.Name()]
		}

		if err := put(kind, "sha256:"+b.Name(), raw); err != nil {
			return err
		}
	}

	return nil
}
