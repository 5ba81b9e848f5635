// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/seed-59268b81/talos/service/supervisor"
)

// pull returns the image, unpacked; it goes to a registry only when containerd does not have it.
func (c *Container) pull(ctx context.Context, client *containerd.Client, run supervisor.Run) (containerd.Image, error) {
	image, err := stored(ctx, client, c.Image)

	switch {
	case err == nil:
		return image, nil
	case image == nil && !errdefs.IsNotFound(err):
		return nil, fmt.Errorf("container %s: look up image %s: %w", c.ID, c.Image, err)
	}

	run.Preparing("Pulling image " + c.Image)

	resolver, tried, err := from(ctx, Access{})
	if err != nil {
		return nil, fmt.Errorf("container %s: pull image %s: %w", c.ID, c.Image, err)
	}

	if image, err = client.Pull(ctx, c.Image, containerd.WithPullUnpack, resolver); err != nil {
		return nil, fmt.Errorf("container %s: pull image %s: %w: %w", c.ID, c.Image, errNoImage, tried.Explain(err))
	}

	return image, nil
}

// stored returns an image that containerd has, and unpacks it if necessary. An image that cannot be unpacked is returned with the error.
func stored(ctx context.Context, client *containerd.Client, ref string) (containerd.Image, error) {
	image, err := client.GetImage(ctx, ref)
	if err != nil {
		return nil, err
	}

	if unpacked, err := image.IsUnpacked(ctx, ""); err == nil && unpacked {
		return image, nil
	}

	if err := image.Unpack(ctx, ""); err != nil {
		return image, fmt.Errorf("unpack: %w", err)
	}

	return image, nil
}
