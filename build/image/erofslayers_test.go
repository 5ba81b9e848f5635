// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/build/ociimage"
)

// TestLayers creates the file systems of two images that share a layer, twice. Their names are the digests in the images'
// configurations, both times they are the same, and they do not have the times and owners of the original files.
func TestLayers(t *testing.T) {
	hosttest.Need(t, "mkfs.erofs")

	base, top := t.TempDir(), t.TempDir()
	write(t, filepath.Join(base, "etc/passwd"), "root:x:0:0:::")
	write(t, filepath.Join(top, "bin/program"), "program")

	if err := os.Symlink("program", filepath.Join(top, "bin/link")); err != nil {
		t.Fatal(err)
	}

	one, two, images := t.TempDir(), t.TempDir(), t.TempDir()

	for dir, image := range map[string]ociimage.Image{
		one: {Reference: "example.org/one:1", Layers: []ociimage.Tree{ociimage.Tree(base)}},
		two: {Reference: "example.org/two:1", Layers: []ociimage.Tree{ociimage.Tree(base), ociimage.Tree(top)}},
	} {
		if err := ociimage.Write(dir, image); err != nil {
			t.Fatal(err)
		}
	}

	if err := ociimage.Merge(images, one, two); err != nil {
		t.Fatal(err)
	}

	layers, err := layersOf(images)
	if err != nil || len(layers) != 2 {
		t.Fatalf("got %d layers, %v, want 2", len(layers), err)
	}

	var made [2]map[string]string

	for i := range made {
		dir := filepath.Join(t.TempDir(), "result")
		if err := makeLayers(t.Context(), images, dir); err != nil {
			t.Fatal(err)
		}

		made[i] = map[string]string{}

		for digest := range layers {
			name := filepath.Join("sha256", digest.Hex[:2], digest.Hex+".erofs")

			content, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}

			made[i][name] = string(content)
		}
	}

	if d := cmp.Diff(made[0], made[1]); d != "" {
		t.Errorf("two file systems of one layer differ")
	}
}
