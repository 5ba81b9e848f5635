// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
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

	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/pki/cosign"
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

// TestImportedSignatures imports images with the tag of signatures while a rule denies all images. The rules are not for
// one that holds signatures.
func TestImportedSignatures(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	digest := digests.FromString("signed").String()
	name := "registry.test/app:" + must(cosign.Tag(digest))
	manifest, blobs := registrytest.Signature(t, "registry.test/app", digest, key)

	index := must(json.Marshal(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{{
		MediaType: ocispec.MediaTypeImageManifest, Digest: digests.FromBytes(manifest), Size: int64(len(manifest)),
	}}}))

	for what, tt := range map[string]struct {
		archive *registrytest.Archive
		want    error
	}{
		"signatures":          {registrytest.NewArchive(t).Add(name, manifest, blobs...), nil},
		"a program":           {registrytest.NewArchive(t).Image(name, registrytest.Random(t)), ErrRefused},
		"an index":            {registrytest.NewArchive(t).Add(name, index, append(blobs, manifest)...), ErrRefused},
		"without the tag":     {registrytest.NewArchive(t).Add("registry.test/app:1", manifest, blobs...), ErrRefused},
		"a large manifest":    {registrytest.NewArchive(t).Add(name, append(manifest, bytes.Repeat([]byte(" "), cosign.MaxManifest)...), blobs...), ErrRefused},
		"one after the other": {registrytest.NewArchive(t).Add(name, manifest, blobs...).Image(name, registrytest.Random(t)), ErrRefused},
	} {
		t.Run(what, func(t *testing.T) {
			i := storesOf(t, imagerules.Rules{{Image: "*", Deny: true}})

			got, err := i.Import(t.Context(), tt.archive.Reader())
			if !errors.Is(err, tt.want) || err == nil && got != name {
				t.Errorf("got %q, %v, want %v", got, err, tt.want)
			}

			if has := len(i.targets(t.Context(), t)) > 0; has != (tt.want == nil) {
				t.Errorf("containerd has the image: got %t", has)
			}
		})
	}
}

// TestImportSigned imports an archive of an image that the build has signed, while a rule wants a signature by a key.
func TestImportSigned(t *testing.T) {
	const name = "registry.test/installer:v1"

	key, other := must(pki.NewKey(pki.ECDSAP256)), must(pki.NewKey(pki.ECDSAP256))
	dir := t.TempDir()
	layout, archive := filepath.Join(dir, "installer"), filepath.Join(dir, "installer.tar")

	if err := errors.Join(ociimage.Write(layout, ociimage.Image{Reference: name}), ociimage.Sign(layout, key), ociimage.Archive(archive, layout)); err != nil {
		t.Fatal(err)
	}

	for what, tt := range map[string]struct {
		signer crypto.Signer
		want   error
	}{"the key": {key, nil}, "another key": {other, ErrRefused}} {
		public := string(must(pki.EncodePublicKey(tt.signer.Public())))
		i := storesOf(t, imagerules.Rules{{Image: "*", PublicKey: public}})

		f := must(os.Open(archive))
		t.Cleanup(func() { f.Close() })

		// Import would unpack it, which needs the daemon.
		if _, err := i.client.Import(i.context(t.Context()), f); err != nil {
			t.Fatal(err)
		}

		if _, err := i.Verified(t.Context(), name); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", what, err, tt.want)
		}
	}
}

// TestNamedDigest refuses an image whose name has the digest of another one.
func TestNamedDigest(t *testing.T) {
	one, other := digests.FromString("one").String(), digests.FromString("other").String()
	i := storesOf(t, imagerules.Rules{{Image: "registry.test/app@" + one, Skip: true}, {Image: "registry.test/app:1", Skip: true}})

	for name, want := range map[string]error{
		"registry.test/app@" + one:       nil,
		"registry.test/app:1@" + one:     nil,
		"registry.test/app@" + other:     ErrRefused,
		"registry.test/unruled@" + other: ErrRefused,
		"registry.test/app:1":            nil,
	} {
		if err := i.allowed(t.Context(), name, one); !errors.Is(err, want) {
			t.Errorf("%s with the digest %s: got %v, want %v", name, one, err, want)
		}
	}
}
