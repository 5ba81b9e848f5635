// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/errdefs"
	digests "github.com/opencontainers/go-digest"
)

// Remote is an image of a registry, which is read without containerd and stored nowhere.
type Remote struct {
	ctx     context.Context
	fetcher remotes.FetcherByDigest
	tried   *Attempts
}

// OpenRemote finds an image, and refuses it as NewResolver does. hostsDir and credentialsFile are those of NewResolver. Calls of the Remote end with the context.
func OpenRemote(ctx context.Context, ref, hostsDir, credentialsFile string) (*Remote, Target, error) {
	name, err := Reference(ref)
	if err != nil {
		return nil, Target{}, err
	}

	resolver, tried, err := NewResolver(ctx, hostsDir, credentialsFile)
	if err != nil {
		return nil, Target{}, fmt.Errorf("read %s: %w", name, err)
	}

	_, target, err := resolver.Resolve(ctx, name)
	if err != nil {
		return nil, Target{}, fmt.Errorf("read %s: %w", name, tried.Explain(err))
	}

	fetcher, err := resolver.Fetcher(ctx, name)
	if err != nil {
		return nil, Target{}, fmt.Errorf("read %s: %w", name, err)
	}

	byDigest, ok := fetcher.(remotes.FetcherByDigest)
	if !ok {
		return nil, Target{}, fmt.Errorf("read %s: its registry has no blobs by digest", name)
	}

	return &Remote{ctx, byDigest, tried}, Target{name, target.MediaType, target.Digest.String(), target.Size}, nil
}

// Blob opens a blob of the image by its digest, and returns its size as the registry says it. The error is fs.ErrNotExist if there is none. The
// content is not compared with the digest.
func (r *Remote) Blob(digest string) (io.ReadCloser, int64, error) {
	d, err := digests.Parse(digest)
	if err != nil {
		return nil, 0, err
	}

	content, desc, err := r.fetcher.FetchByDigest(r.ctx, d)
	if errdefs.IsNotFound(err) {
		err = errors.Join(fs.ErrNotExist, err)
	}

	if err != nil {
		return nil, 0, r.tried.Explain(err)
	}

	return content, desc.Size, nil
}
