// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/machine/installation"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/version"
)

// installer returns what installs this machine when it is on no disk.
func (m *Machine) installer() (*installation.Installer, error) {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, fmt.Errorf("kernel command line: %w", err)
	}

	_, err = os.Stat(filepath.Dir(string(efivar.Mounted)))

	return &installation.Installer{
		Fetch: fetchImage, State: m.State, Sys: disk.Sys, Vars: efivar.Mounted, UEFI: err == nil,
		Version: version.Tag, Cmdline: strings.TrimSpace(string(line)),
	}, nil
}

// fetchImage opens the release of an image in a registry until the context ends.
func fetchImage(ctx context.Context, image string, cfg *view.Config) (*release.Image, error) {
	return fetchRelease(ctx, layout.SystemRunDir, image, cfg)
}

// fetchRelease opens the release of an image in a registry. Nothing is stored: a machine without a disk has no room for it.
func fetchRelease(ctx context.Context, tmp, image string, cfg *view.Config) (*release.Image, error) {
	dir, err := os.MkdirTemp(tmp, "registries-")
	if err != nil {
		return nil, err
	}

	hosts, credentials, err := cri.RegistryFiles(dir, cfg)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}

	// The certificates that the files name are read with each connection.
	context.AfterFunc(ctx, func() { os.RemoveAll(dir) })

	remote, target, err := container.OpenRemote(ctx, image, hosts, credentials)
	if err != nil {
		return nil, err
	}

	return release.Read(remote, target.Name, release.Descriptor{MediaType: target.MediaType, Digest: target.Digest, Size: target.Size}, runtime.GOARCH)
}
