// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/defaults"
	"github.com/containerd/errdefs"

	"github.com/seed-59268b81/talos/layout"
)

// Snapshotters of containerd: unpacked layers in an overlay, layers that are file systems of their own, and copies.
const (
	Overlayfs = "overlayfs"
	Erofs     = "erofs"
	Native    = "native"
)

// UseSnapshotter sets the default snapshotter of the namespaces of the machine.
func UseSnapshotter(ctx context.Context, name string) error {
	client, err := containerd.New(layout.ContainerdSocket)
	if err != nil {
		return fmt.Errorf("use snapshotter %s: connect to containerd at %s: %w", name, layout.ContainerdSocket, err)
	}
	defer client.Close()

	for _, namespace := range []string{NamespaceSystem, NamespacePods} {
		err := client.NamespaceService().Create(ctx, namespace, map[string]string{defaults.DefaultSnapshotterNSLabel: name})
		if errdefs.IsAlreadyExists(err) {
			err = client.NamespaceService().SetLabel(ctx, namespace, defaults.DefaultSnapshotterNSLabel, name)
		}

		if err != nil {
			return fmt.Errorf("use snapshotter %s in namespace %s: %w", name, namespace, err)
		}
	}

	return nil
}
