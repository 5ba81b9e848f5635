// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/metadata"
	"github.com/containerd/containerd/v2/plugins/content/local"
	digests "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/imagerules"
	"github.com/seed-59268b81/talos/test/registrytest"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}

	return v
}

// storesOf returns images in containerd's own stores, without its daemon: they are not unpacked.
func storesOf(t *testing.T, rules imagerules.Rules) *Images {
	t.Helper()

	dir := t.TempDir()

	file := must(bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, nil))
	t.Cleanup(func() { file.Close() })

	db := metadata.NewDB(file, must(local.NewStore(filepath.Join(dir, "content"))), nil)
	if err := db.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	client := must(containerd.New("", containerd.WithServices(
		containerd.WithImageStore(metadata.NewImageStore(db)), containerd.WithContentStore(db.ContentStore()),
		containerd.WithLeasesService(metadata.NewLeaseManager(db)),
	)))

	if err := os.WriteFile(filepath.Join(dir, filepath.Base(layout.ImageRules)), must(rules.Text()), 0o600); err != nil {
		t.Fatal(err)
	}

	return &Images{client: client, namespace: NamespaceSystem, access: Access{
		Hosts: filepath.Join(dir, "hosts"), Credentials: filepath.Join(dir, "credentials.json"), Cache: filepath.Join(dir, "cache"),
	}}
}

// targets returns the digests of all images by their names.
func (i *Images) targets(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()

	out := map[string]string{}
	for _, image := range must(i.client.ImageService().List(i.context(ctx))) {
		out[image.Name] = image.Target.Digest.String()
	}

	return out
}

// TestBrokenImport imports archives whose last image has no media type, which containerd finds out when it has created the others.
func TestBrokenImport(t *testing.T) {
	const denied = "registry.test/denied:1"

	i := storesOf(t, imagerules.Rules{{Image: "registry.test/denied:*", Deny: true}})
	archive := func() *registrytest.Archive {
		return registrytest.NewArchive(t).Image(denied, registrytest.Random(t)).Add("registry.test/broken:1", []byte("{}"))
	}

	if name, err := i.Import(t.Context(), archive().Reader()); err == nil {
		t.Errorf("got %s, want an error", name)
	}

	if got := i.targets(t.Context(), t); len(got) > 0 {
		t.Errorf("got the images %v, want none", got)
	}

	// An image from before the rules stays what it was.
	before := images.Image{Name: denied, Target: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digests.FromString("before"), Size: 6}}
	if _, err := i.client.ImageService().Create(i.context(t.Context()), before); err != nil {
		t.Fatal(err)
	}

	if name, err := i.Import(t.Context(), archive().Reader()); err == nil {
		t.Errorf("got %s, want an error", name)
	}

	if got := i.targets(t.Context(), t); len(got) != 1 || got[denied] != before.Target.Digest.String() {
		t.Errorf("got the images %v, want %s", got, before.Target.Digest)
	}
}
