// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform"
)

// place is what containerd must know of where it runs.
type place struct {
	// snapshotter of the images.
	snapshotter string
	// keepOOMScores is set when scores of the OOM killer cannot be lowered: pods then get the lowest possible score.
	keepOOMScores bool
	// ownKernel is false where AppArmor and the limits of kernel resources are the host's.
	ownKernel bool
}

// placeOf finds out what the kernel lets containerd do in a root folder, with the layers of the image cache. On the machine's own kernel it
// loads what is missing, or fails.
func placeOf(p platform.Platform, root, layers string, loadModule func(name string, params ...string) error, log *slog.Logger) (place, error) {
	at := place{snapshotter: container.Overlayfs, keepOOMScores: !p.Owns(platform.OOMScores), ownKernel: p.Owns(platform.KernelModules)}

	// EROFS cannot be mounted in a user namespace.
	if at.ownKernel {
		at.snapshotter = snapshotterOf(root, layers)
	}

	switch {
	case at.snapshotter == container.Erofs:
		// containerd looks for EROFS in the list of file systems, and does not load the module.
		if err := loadModule("erofs"); err != nil {
			return place{}, fmt.Errorf("mount layers of images: %w", err)
		}
	case !at.ownKernel:
		if err := mount.TryOverlay(root); err != nil {
			log.Warn("images are copied for each container: overlays do not work here", "error", err)

			at.snapshotter = container.Native
		}
	}

	return at, nil
}

// snapshotterOf returns the snapshotter of a machine with its own kernel: EROFS if the image cache has layers to mount. Without the cache all
// layers would have to be converted, which takes half as long again as unpacking them. A machine keeps its first snapshotter: containerd
// stores images by snapshotter, and has discarded the layers from which it could unpack them again.
func snapshotterOf(root, layers string) string {
	switch {
	case exists(filepath.Join(root, erofsPlugin)):
		return container.Erofs
	case exists(filepath.Join(root, "io.containerd.metadata.v1.bolt")), !exists(layers):
		return container.Overlayfs
	default:
		return container.Erofs
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)

	return err == nil
}
