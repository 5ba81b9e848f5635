// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config/images"
)

// built returns the repository's output folder, if everything is built.
func built(t *testing.T) artifact.Paths {
	t.Helper()

	p, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{p.ImageLayout(), p.Rootfs(), p.Vmlinuz(), p.Bin("kubectl")} {
		if _, err := os.Stat(path); err != nil {
			hosttest.NotBuilt(t, fmt.Errorf("%w: run make build", err))
		}
	}

	return p
}

func TestLayoutHasTheImagesOfTheCache(t *testing.T) {
	p := built(t)

	index, err := ociimage.ReadIndex(p.ImageLayout())
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, d := range index {
		got = append(got, d.Annotations[ociimage.RefName])
	}

	want := images.Cache()
	slices.Sort(want)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images in the layout (-config/images +built):\n%s", diff)
	}
}

func TestBudgetImageLayout(t *testing.T) {
	p := built(t)

	// All images of a node, as in the disk's image cache. 14 MiB of it are what enforces NetworkPolicies, and 37 MiB are for tests.
	const budget = 190 << 20

	size := treeSize(t, p.ImageLayout())
	t.Logf("image layout: %d MiB of %d", size>>20, budget>>20)

	if size > budget {
		t.Errorf("image layout: got %d bytes, want at most %d", size, budget)
	}
}

func TestBudgetRootfsPrograms(t *testing.T) {
	p := built(t)

	// Uncompressed; the root image has a third of the size. 8 MiB of it are systemd-udevd, half of them the libcrypto of its libkmod.
	const budget = 90 << 20

	size := treeSize(t, p.Rootfs())
	t.Logf("third-party files of the root image: %d MiB of %d", size>>20, budget>>20)

	if size > budget {
		t.Errorf("third-party files of the root image: got %d bytes, want at most %d", size, budget)
	}
}

// treeSize counts a file once that has several names.
func treeSize(t *testing.T, dir string) int64 {
	t.Helper()

	var size int64

	counted := map[int64][]os.FileInfo{} // by size

	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}

		info, err := d.Info()
		if err != nil || slices.ContainsFunc(counted[info.Size()], func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			return err
		}

		size += info.Size()
		counted[info.Size()] = append(counted[info.Size()], info)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return size
}
