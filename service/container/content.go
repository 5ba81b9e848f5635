// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	digests "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Target is what an image's name stands for: a manifest, or an index of manifests.
type Target struct {
	Name, MediaType, Digest string
	Size                    int64
}

// Target returns an image by its listed name or a short reference.
func (i *Images) Target(ctx context.Context, ref string) (Target, error) {
	ctx = i.context(ctx)

	image, err := i.client.ImageService().Get(ctx, ref)
	if errdefs.IsNotFound(err) {
		name, wrong := Reference(ref)
		if wrong != nil {
			return Target{}, wrong
		}

		ref = name
		image, err = i.client.ImageService().Get(ctx, name)
	}

	if errdefs.IsNotFound(err) {
		return Target{}, fmt.Errorf("%s: %w", ref, ErrNoImage)
	}

	if err != nil {
		return Target{}, err
	}

	return Target{image.Name, image.Target.MediaType, image.Target.Digest.String(), image.Target.Size}, nil
}

// readSize is how much of a blob is read in one call.
const readSize = 1 << 20

// Blob opens a blob of an image by its digest, and returns its size. The error is fs.ErrNotExist if there is none. Containerd has checked the
// digest when it stored the blob.
func (i *Images) Blob(ctx context.Context, digest string) (io.ReadCloser, int64, error) {
	d, err := digests.Parse(digest)
	if err != nil {
		return nil, 0, err
	}

	r, err := i.client.ContentStore().ReaderAt(i.context(ctx), ocispec.Descriptor{Digest: d})
	if errdefs.IsNotFound(err) {
		err = errors.Join(fs.ErrNotExist, err)
	}

	if err != nil {
		return nil, 0, err
	}

	return blob{bufio.NewReaderSize(content.NewReader(r), readSize), r}, r.Size(), nil
}

type blob struct {
	io.Reader
	io.Closer
}
