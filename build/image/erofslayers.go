// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/containerd/containerd/v2/pkg/archive"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"golang.org/x/sync/errgroup"

	"github.com/seed-59268b81/talos/build/graph"
)

// layersStep creates a file system for each layer of a layout's images. A machine mounts it instead of pulling, decompressing
// and unpacking the layer.
func layersStep(o Options, name, about, images, published string) graph.Step {
	return graph.Step{
		Name:   name,
		About:  about,
		Needs:  []string{images},
		Heavy:  true,
		Inputs: o.inputs(),
		Run: func(ctx context.Context, w *graph.Work) error {
			return makeLayers(ctx, w.Needs[images].Dir, w.Dir)
		},
		Publish: map[string]string{".": published},
	}
}

// makeLayers creates a file system for each layer of the images of an OCI layout. Its name is the one that containerd's
// snapshotter looks for: sha256/<the first two digits>/<digest of the uncompressed layer>.erofs.
func makeLayers(ctx context.Context, images, dir string) error {
	layers, err := layersOf(images)
	if err != nil {
		return fmt.Errorf("layers of %s: %w", images, err)
	}

	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.NumCPU())

	for digest, layer := range layers {
		work.Go(func() error {
			path := filepath.Join(dir, digest.Algorithm, digest.Hex[:2], digest.Hex+".erofs")
			if err := makeErofs(ctx, layer, path); err != nil {
				return fmt.Errorf("layer %s: %w", digest, err)
			}

			return nil
		})
	}

	return work.Wait()
}

// layersOf returns the layers of all images of a layout, by the digest of the uncompressed layer. Images share layers.
func layersOf(images string) (map[v1.Hash]v1.Layer, error) {
	index, err := layout.ImageIndexFromPath(images)
	if err != nil {
		return nil, err
	}

	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}

	found := map[v1.Hash]v1.Layer{}

	for _, d := range manifest.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			return nil, err
		}

		layers, err := image.Layers()
		if err != nil {
			return nil, err
		}

		for _, layer := range layers {
			digest, err := layer.DiffID()
			if err != nil {
				return nil, err
			}

			found[digest] = layer
		}
	}

	return found, nil
}

// makeErofs unpacks a layer and creates a file system with its files. All owners are root, all times are zero, and there are no
// attributes, as in the layers (build/ociimage). LZ4 with clusters of 64 KiB reduces the size to 0.4; every kernel with EROFS can
// read LZ4. Larger clusters would save little and make page faults slower.
func makeErofs(ctx context.Context, layer v1.Layer, path string) error {
	digest, err := layer.DiffID()
	if err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	// Next to the step's result.
	tree, remove, err := scratch(filepath.Dir(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return err
	}
	defer remove()

	content, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer content.Close()

	if _, err := archive.Apply(ctx, tree, content, archive.WithNoSameOwner()); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}

	if _, err := io.Copy(io.Discard, content); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}

	// The tree becomes the root folder of the file system. As a scratch folder it has mode 0700.
	if err := os.Chmod(tree, 0o755); err != nil {
		return err
	}

	if err := run(ctx, nil, "mkfs.erofs", "--quiet", "--all-root", "-x-1", "-T0",
		"-U"+identity("layer", digest.Hex).String(), "-zlz4hc", "-C65536", path, tree); err != nil {
		return err
	}

	return os.Chmod(path, 0o644)
}
