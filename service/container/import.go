// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"
	"io"
	"slices"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
)

// Import imports the images of an OCI or Docker archive, which may be compressed, and returns the name of the first one that does not hold
// signatures. Signatures may be in the archive as images with the names that they have in a registry. If the rules of the configuration refuse
// one of the images, none is imported.
func (i *Images) Import(ctx context.Context, archive io.Reader) (string, error) {
	ctx = i.context(ctx)

	// It keeps the content until containerd has the images.
	ctx, done, err := i.client.WithLease(ctx)
	if err != nil {
		return "", fmt.Errorf("import an image: %w", err)
	}
	defer done(context.WithoutCancel(ctx))

	pending, err := i.pending()
	if err != nil {
		return "", fmt.Errorf("import an image: %w", err)
	}

	opts := []containerd.ImportOpt{containerd.WithImportCompression()}

	if i.namespace == NamespacePods {
		opts = append(opts, containerd.WithImageLabels(criLabel))
	}

	all, err := pending.client.Import(ctx, archive, opts...)
	if err != nil {
		return "", fmt.Errorf("import an image: %w", err)
	}

	if len(all) == 0 {
		return "", fmt.Errorf("import an image: %w", ErrArchive)
	}

	var runnable []images.Image

	for _, image := range all {
		if pending.holdsSignatures(ctx, image) {
			continue
		}

		if err := pending.allowed(ctx, image.Name, image.Target.Digest.String()); err != nil {
			return "", fmt.Errorf("import image %s: %w", image.Name, err)
		}

		runnable = append(runnable, image)
	}

	for _, image := range all {
		if err := write(ctx, i.client.ImageService(), image); err != nil {
			return "", fmt.Errorf("import image %s: %w", image.Name, err)
		}
	}

	for _, image := range runnable {
		if err := containerd.NewImage(i.client, image).Unpack(ctx, ""); err != nil {
			return "", fmt.Errorf("import image %s: unpack: %w", image.Name, err)
		}
	}

	if len(runnable) == 0 {
		return all[0].Name, nil
	}

	return runnable[0].Name, nil
}

// write creates an image, or gives the one of its name another target and, if it has some, other labels.
func write(ctx context.Context, to images.Store, image images.Image) error {
	fields := []string{"target"}
	if image.Labels != nil {
		fields = append(fields, "labels")
	}

	_, err := to.Update(ctx, image, fields...)
	if errdefs.IsNotFound(err) {
		_, err = to.Create(ctx, image)
	}

	return err
}

// pending returns the images with those that an import adds to them, of which containerd has only the content: what no one has judged yet has
// no name by which it could be used.
func (i *Images) pending() (*Images, error) {
	client, err := containerd.New("", containerd.WithServices(
		containerd.WithImageStore(&pendingStore{Store: i.client.ImageService()}),
		containerd.WithContentStore(i.client.ContentStore()),
		containerd.WithLeasesService(i.client.LeasesService()),
	))

	return &Images{client: client, namespace: i.namespace, access: i.access}, err
}

// pendingStore keeps the images that are written to it in memory, beside those of another store.
type pendingStore struct {
	images.Store

	added []images.Image
}

// Get implements images.Store.
func (s *pendingStore) Get(ctx context.Context, name string) (images.Image, error) {
	if n := slices.IndexFunc(s.added, func(i images.Image) bool { return i.Name == name }); n >= 0 {
		return s.added[n], nil
	}

	return s.Store.Get(ctx, name)
}

// Create implements images.Store.
func (s *pendingStore) Create(_ context.Context, image images.Image) (images.Image, error) {
	s.added = append(s.added, image)

	return image, nil
}

// Update implements images.Store. An import calls it before Create.
func (s *pendingStore) Update(ctx context.Context, image images.Image, _ ...string) (images.Image, error) {
	return s.Create(ctx, image)
}
