// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/layout"
)

// fetchTimeout bounds a Fetch, because a controller handles no other change while it waits for an image.
const fetchTimeout = 10 * time.Minute

// Fetch downloads and unpacks an image in a namespace of containerd. A controller calls it before it replaces a running service, which
// keeps running when the image cannot be pulled.
func Fetch(ctx context.Context, namespace, ref string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()

	images, err := OpenImages(layout.ContainerdSocket, namespace)
	if err != nil {
		return err
	}
	defer images.Close()

	name, err := Reference(ref)
	if err != nil {
		return err
	}

	if _, err := stored(images.context(ctx), images.client, name); err == nil {
		return nil
	}

	_, err = images.Pull(ctx, name, nil)

	return err
}
