// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/sys/meta"
)

// System is the source of the calls that show the machine itself. The zero System is the real machine, without a META
// partition and a controller runtime.
type System struct {
	// Root of the file system whose /proc, /sys and /dev are shown, "/" by default. Tests use a temporary folder.
	Root string
	// Containerd is the path of its socket, layout.ContainerdSocket by default.
	Containerd string
	// Meta writes values of the META partition.
	Meta interface {
		Get(tag meta.Tag) ([]byte, error)
		Set(tag meta.Tag, value []byte) error
		Delete(tag meta.Tag) error
	}
	// Loader is the boot loader, and Trials tries boot entries.
	Loader BootLoader
	Trials Trials
	// Installer installs a machine that is on no disk, and Fetch opens the release of an image in a registry until the context ends.
	Installer Installer
	Fetch     func(ctx context.Context, image string, cfg *view.Config) (*release.Image, error)
	// changing is held by what changes boot entries.
	changing sync.Mutex
	// Graph returns which controllers read and write which resources.
	Graph func() []runtime.Edge
}

// path returns the path of a file below Root.
func (s *System) path(p string) string { return filepath.Join("/", s.Root, p) }
