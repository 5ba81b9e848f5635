// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/service/container"
)

// TestLayersAreMounted pulls an image of two layers with the real containerd, with the file systems of both layers, of one and of none in the
// image cache. Missing ones are unpacked and converted, and the same files are mounted each time.
func TestLayersAreMounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("containerd mounts images only as root")
	}

	if known, err := os.ReadFile("/proc/filesystems"); err != nil || !bytes.Contains(known, []byte("\terofs\n")) {
		t.Skip("this kernel has no EROFS")
	}

	needBuilt(t, builtContainerd, builtLayout, builtLayers)
	hosttest.Need(t, "mkfs.erofs")

	cache := httptest.NewServer(imagecache.New(builtLayout))
	defer cache.Close()

	diffs := diffsOf(t, images.DefaultCoreDNS)

	want, err := os.ReadFile("../../out/components/bin/coredns")
	if err != nil || len(diffs) != 2 {
		t.Fatalf("%v, %d layers, want 2", err, len(diffs))
	}

	for there := range len(diffs) + 1 {
		t.Run(fmt.Sprintf("%d of %d", there, len(diffs)), func(t *testing.T) {
			layers := t.TempDir()
			for _, diff := range diffs[:there] {
				linkLayer(t, layers, diff)
			}

			client := startContainerd(t, container.Erofs, layers)
			defer client.stop()

			ctx := namespaces.WithNamespace(t.Context(), container.NamespacePods)

			_, err := client.Pull(ctx, images.DefaultCoreDNS, containerd.WithPullUnpack, containerd.WithPullSnapshotter(container.Erofs),
				containerd.WithResolver(fromCache(cache.Listener.Addr().String())))
			if err != nil {
				t.Fatal(err)
			}

			own, err := filepath.Glob(filepath.Join(client.root, erofsPlugin, "snapshots", "*", "layer.erofs"))
			if err != nil || len(own) != len(diffs)-there {
				t.Errorf("converted layers: got %v, %v, want %d", own, err, len(diffs)-there)
			}

			mounts, err := client.SnapshotService(container.Erofs).Prepare(ctx, "test", identity.ChainID(diffs).String())
			if err != nil {
				t.Fatal(err)
			}

			active, err := client.MountManager().Activate(ctx, "test", mounts)
			if err != nil {
				t.Fatal(err)
			}

			defer client.MountManager().Deactivate(ctx, "test")

			var found [][]byte

			for _, m := range active.Active {
				// The mounts are in containerd's namespace.
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/root%s/coredns", client.pid, m.MountPoint))
				if err == nil {
					found = append(found, text)
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}

			if len(found) != 1 || !bytes.Equal(found[0], want) {
				t.Errorf("%d layers have the program, or it differs from the one that was built", len(found))
			}
		})
	}
}

// diffsOf returns the digests of the uncompressed layers of an image.
func diffsOf(t *testing.T, reference string) []digest.Digest {
	t.Helper()

	index, err := layout.ImageIndexFromPath(builtLayout)
	if err != nil {
		t.Fatal(err)
	}

	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool {
		return d.Annotations["org.opencontainers.image.ref.name"] == reference
	})
	if i < 0 {
		t.Fatalf("%s is not in the image cache", reference)
	}

	image, err := index.Image(manifest.Manifests[i].Digest)
	if err != nil {
		t.Fatal(err)
	}

	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	var all []digest.Digest
	for _, diff := range config.RootFS.DiffIDs {
		all = append(all, digest.Digest(diff.String()))
	}

	return all
}

// linkLayer links a built file system to where containerd looks for it.
func linkLayer(t *testing.T, dir string, diff digest.Digest) {
	t.Helper()

	name := filepath.Join("sha256", diff.Encoded()[:2], diff.Encoded()+".erofs")

	source, err := filepath.Abs(filepath.Join(builtLayers, name))
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(source); err != nil {
		t.Fatal(err)
	}

	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(source, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
