// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/layout"
)

// fetchTimeout bounds how long whoever waits for an image is deaf to other changes.
const fetchTimeout = 10 * time.Minute

// Fetch has an image in a namespace of containerd, downloaded and unpacked. Who replaces something that runs does this first: what
// runs goes on when the image cannot be had.
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
