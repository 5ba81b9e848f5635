// SPDX-License-Identifier: Apache-2.0

//go:build linux

package installation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// source is a release and its boot loader.
type source struct {
	// name is for people.
	name   string
	system loader.System
	// loader is systemd-boot, and grub what a BIOS starts, or nil.
	loader install.Source
	grub   *install.GRUB
}

// ErrNoRelease is the error of a machine without a medium, when no image is named.
var ErrNoRelease = errors.New("the machine was not started from a medium that has its release, as over a network: name the image of the installer")

// ofMedium reports whether the release is that of the medium: the image is not said, or is the one of the version that runs.
func (i *Installer) ofMedium(image string) bool {
	return image == "" || image == generate.InstallerRepository+":"+i.Version
}

// find returns the release.
func (i *Installer) find(ctx context.Context, cfg *view.Config, image string, m *booted) (source, error) {
	if m != nil && i.ofMedium(image) {
		return source{
			name:   i.describe(image, m),
			system: loader.System{Version: i.Version, UKI: m.UKI, Kernel: m.Kernel, Initramfs: m.Initramfs, Cmdline: m.Cmdline},
			loader: m.Loader, grub: m.GRUB,
		}, nil
	}

	if image == "" {
		return source{}, ErrNoRelease
	}

	r, err := i.Fetch(ctx, image, cfg)
	if err == nil {
		err = r.For(runtime.GOARCH, "")
	}

	if err != nil {
		return source{}, err
	}

	return i.ofRelease(r, image)
}

// ofRelease returns the release of an image. What only GRUB starts need not be in it.
func (i *Installer) ofRelease(r *release.Image, image string) (source, error) {
	from := source{name: r.Version + " of " + image, system: loader.System{Version: r.Version, Cmdline: r.Cmdline}}
	grub := &install.GRUB{}

	for name, to := range map[string]*install.Source{
		release.UKI: &from.system.UKI, release.Loader: &from.loader, release.Kernel: &from.system.Kernel, release.Initramfs: &from.system.Initramfs,
		release.GRUBBoot: &grub.Boot, release.GRUBCore: &grub.Core,
	} {
		s, err := r.Source(name)
		if err != nil && (name == release.UKI || name == release.Loader || !errors.Is(err, fs.ErrNotExist)) {
			return source{}, err
		}

		*to = s
	}

	if grub.Core.Open != nil && grub.Boot.Open != nil {
		from.grub = grub
	}

	return from, i.starts(from)
}

// starts returns why the machine's firmware cannot start a release from a disk.
func (i *Installer) starts(from source) error {
	if !i.UEFI && from.grub == nil {
		return ErrBIOS
	}

	return nil
}

// describe returns where the release comes from, without asking a registry.
func (i *Installer) describe(image string, m *booted) string {
	if m != nil && i.ofMedium(image) {
		return fmt.Sprintf("%s of the medium %s", i.Version, filepath.Base(m.disk))
	}

	return image
}

// arguments returns the kernel's arguments of the new system: its own, those that this boot was given besides those of the medium, and those
// of the configuration, of which -NAME removes an argument.
func arguments(own, running, ofMedium string, extra []string) []string {
	args := append(strings.Fields(own), without(strings.Fields(running), strings.Fields(ofMedium))...)

	for _, arg := range extra {
		if name, removes := strings.CutPrefix(arg, "-"); removes {
			args = slices.DeleteFunc(args, func(a string) bool {
				key, _, _ := strings.Cut(a, "=")

				return a == name || key == name
			})

			continue
		}

		args = append(args, arg)
	}

	return args
}

// once are the arguments of one boot only: those that boot loaders add, and configurations, which are stored.
var once = []string{"BOOT_IMAGE", "initrd", cmdline.ConfigInline, cmdline.ConfigEarly}

// without returns the arguments that are not in others, each of which counts once, and are not for one boot.
func without(args, others []string) (out []string) {
	others = slices.Clone(others)

	for _, a := range args {
		key, _, _ := strings.Cut(a, "=")

		if n := slices.Index(others, a); n >= 0 {
			others = slices.Delete(others, n, n+1)
		} else if !slices.Contains(once, key) {
			out = append(out, a)
		}
	}

	return out
}
