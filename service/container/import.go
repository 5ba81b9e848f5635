// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
)

// Import imports the images of an OCI or Docker archive, which may be compressed, and returns the name of the first one that does not hold
// signatures. Signatures may be in the archive as images with the names that they have in a registry. If the rules of the configuration refuse
// one of the images, none is imported.
func (i *Images) Import(ctx context.Context, archive io.Reader) (string, error) {
	ctx = i.context(ctx)

	// It keeps the content of images that are replaced until it is known whether they are.
	ctx, done, err := i.client.WithLease(ctx)
	if err != nil {
		return "", fmt.Errorf("import an image: %w", err)
	}
	defer done(context.WithoutCancel(ctx))

	before, err := i.kept(ctx)
	if err != nil {
		return "", fmt.Errorf("import an image: %w", err)
	}

	opts := []containerd.ImportOpt{containerd.WithImportCompression()}

	if i.namespace == NamespacePods {
		opts = append(opts, containerd.WithImageLabels(criLabel))
	}

	all, err := i.client.Import(ctx, archive, opts...)
	if err != nil {
		return "", fmt.Errorf("import an image: %w", err)
	}

	if len(all) == 0 {
		return "", fmt.Errorf("import an image: %w", ErrArchive)
	}

	for _, image := range all {
		if holdsSignatures(image.Name) {
			continue
		}

		if err := i.allowed(ctx, image.Name, image.Target.Digest.String()); err != nil {
			return "", errors.Join(fmt.Errorf("import image %s: %w", image.Name, err), i.undo(ctx, all, before))
		}
	}

	first := ""

	for _, image := range all {
		if holdsSignatures(image.Name) {
			continue
		}

		if err := containerd.NewImage(i.client, image).Unpack(ctx, ""); err != nil {
			return "", fmt.Errorf("import image %s: unpack: %w", image.Name, err)
		}

		if first == "" {
			first = image.Name
		}
	}

	if first == "" {
		return all[0].Name, nil
	}

	return first, nil
}

// kept returns the images that containerd has, by their names, if there are rules that may undo an import.
func (i *Images) kept(ctx context.Context) (map[string]images.Image, error) {
	rules, err := i.access.rules()
	if err != nil || len(rules) == 0 {
		return nil, err
	}

	all, err := i.client.ImageService().List(ctx)
	if err != nil {
		return nil, err
	}

	byName := map[string]images.Image{}
	for _, image := range all {
		byName[image.Name] = image
	}

	return byName, nil
}

// undoTimeout bounds the end of an import that is refused.
const undoTimeout = 30 * time.Second

// undo removes images that were imported, and restores those of the same names.
func (i *Images) undo(ctx context.Context, imported []images.Image, before map[string]images.Image) error {
	// The caller may be gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()

	var errs []error

	for _, image := range imported {
		var err error

		if old, replaced := before[image.Name]; replaced {
			_, err = i.client.ImageService().Update(ctx, old)
		} else if err = i.client.ImageService().Delete(ctx, image.Name); errdefs.IsNotFound(err) {
			err = nil // the archive has it twice
		}

		if err != nil {
			errs = append(errs, fmt.Errorf("undo the import of image %s: %w: remove it (talosctl image remove)", image.Name, err))
		}
	}

	return errors.Join(errs...)
}
