// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/container"
)

// withRelease calls fn with the release of an image, and what identifies it: of an image that containerd has or, on a machine without
// containerd, of one that is read from its registry and stored nowhere.
func (s *Server) withRelease(
	ctx context.Context, what string, namespace common.ContainerdNamespace, image string, say func(string), fn func(r *release.Image, name string) error,
) error {
	cfg, err := s.withoutContainerd(ctx)
	if err != nil {
		return err
	}

	if cfg != nil {
		return s.withRemote(ctx, what, image, cfg, say, fn)
	}

	return s.withImages(what, namespace, func(images *container.Images) error {
		target, err := images.Target(ctx, image)
		if err != nil {
			return err
		}

		r, err := release.Read(blobsOf{ctx, images}, target.Name, release.Descriptor{
			MediaType: target.MediaType, Digest: target.Digest, Size: target.Size,
		}, runtime.GOARCH)
		if err != nil {
			return err
		}

		return fn(r, target.Digest)
	})
}

func (s *Server) withRemote(
	ctx context.Context, what, image string, cfg *view.Config, say func(string), fn func(r *release.Image, name string) error,
) error {
	if image == "" {
		return status.Errorf(codes.InvalidArgument, "%s: name the image of an installer", what)
	}

	say(fmt.Sprintf("the machine has no configuration, and so no containerd: reading %s from its registry", image))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	r, err := s.Fetch(ctx, image, cfg)
	if err != nil {
		return registryError(what, err)
	}

	return fn(r, image)
}

// withoutContainerd returns what is known of registries on a machine without a configuration, and nil on others: containerd starts with the
// configuration, and runs until the machine goes down.
func (s *Server) withoutContainerd(ctx context.Context) (*view.Config, error) {
	if s.Fetch == nil {
		return nil, nil //nolint:nilnil // it is not a machine of its own
	}

	active, err := fromconfig.Active(ctx, s.State)
	if err != nil || active != nil {
		return nil, err
	}

	if _, err := os.Stat(cmp.Or(s.Containerd, layout.ContainerdSocket)); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // it runs
	}

	return s.registries(ctx)
}

// registries returns what is known of registries: by the configuration that is active, by one that waits for a disk, or by documents that are
// not a whole configuration.
func (s *Server) registries(ctx context.Context) (*view.Config, error) {
	cfg, err := fromconfig.Access(ctx, s.State)
	if err != nil || cfg != nil {
		return cfg, err
	}

	return fromconfig.View(ctx, s.State)
}

// blobsOf are the blobs in containerd's content store.
type blobsOf struct {
	ctx    context.Context
	images *container.Images
}

// Blob implements release.Blobs.
func (b blobsOf) Blob(digest string) (io.ReadCloser, int64, error) {
	return b.images.Blob(b.ctx, digest)
}
