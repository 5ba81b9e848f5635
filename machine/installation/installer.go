// SPDX-License-Identifier: Apache-2.0

//go:build linux

package installation

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/efivar"
)

// Installer installs this machine. It is safe for concurrent use; one installation runs at a time.
type Installer struct {
	State state.Reader
	// Sys is where sysfs is mounted, and Vars are the firmware's variables. UEFI is whether UEFI started the machine.
	Sys  string
	Vars efivar.Dir
	UEFI bool
	// Version is the one that runs, and Cmdline the kernel's command line.
	Version, Cmdline string
	// Fetch opens the release of an image, through the registries of a configuration.
	Fetch func(ctx context.Context, image string, cfg *view.Config) (*release.Image, error)

	mu sync.Mutex
}

// Errors that callers tell apart.
var (
	// ErrInstalled is the error for a machine that is on a disk already.
	ErrInstalled = errors.New("the system is on a disk already")
	// ErrBusy is the error while another installation runs.
	ErrBusy = errors.New("another installation is under way")
	// ErrNoTarget is the error for a configuration that does not say where to install.
	ErrNoTarget = errors.New("the system is on no disk, and the configuration names none: add the document UnattendedInstallConfig, or machine.install.disk")
	// ErrBIOS is the error for a machine that a BIOS has started, when the release has nothing that a BIOS starts from a disk.
	ErrBIOS = errors.New("a BIOS has started the machine, and the release has no GRUB for its disk: " +
		"start it from a CD image or by UEFI, name the image of an installer with GRUB, or write a disk image")
)

// prepared is an installation that can begin.
type prepared struct {
	want *view.Install
	disk string
	// medium is nil for a machine that was started over the network.
	medium *booted
}

func (p prepared) close() error {
	if p.medium == nil {
		return nil
	}

	return p.medium.Close()
}

// Check returns what an installation would do, in words, or why it cannot begin.
func (i *Installer) Check(ctx context.Context, cfg *view.Config) (string, error) {
	p, err := i.prepare(ctx, cfg.Install())
	if err != nil {
		return "", err
	}

	text := fmt.Sprintf("installs %s to %s", i.describe(p.want.Image, p.medium), p.disk)

	return text, p.close()
}

// prepare finds the disk, and the medium.
func (i *Installer) prepare(ctx context.Context, want *view.Install) (prepared, error) {
	if want == nil {
		return prepared{}, ErrNoTarget
	}

	system, err := typed.Find[block.SystemDiskSpec](ctx, i.State, "", block.SystemDiskID)
	if err != nil {
		return prepared{}, err
	}

	if system != nil {
		return prepared{}, fmt.Errorf("%w: %s", ErrInstalled, system.TypedSpec().DevPath)
	}

	disks, found, err := i.look(ctx)
	if err != nil {
		return prepared{}, err
	}

	partition, err := loader.BootPartition(i.Vars)
	if err != nil {
		return prepared{}, err
	}

	m, err := i.findMedium(disks, found, partition)
	if err != nil {
		return prepared{}, err
	}

	p := prepared{want: want, medium: m}

	switch {
	case m == nil && want.Image == "":
		err = ErrNoRelease
	case m != nil && i.ofMedium(want.Image):
		err = i.starts(source{grub: m.GRUB})
	}

	if err == nil {
		p.disk, err = i.choose(want, disks, m, startedFrom(found, partition))
	}

	if err != nil {
		return prepared{}, errors.Join(err, p.close())
	}

	return p, nil
}

// look returns the disks, and what is on them.
func (i *Installer) look(ctx context.Context) (disks []block.DiskSpec, found []block.DiscoveredVolumeSpec, err error) {
	all, err1 := typed.List[block.DiskSpec](ctx, i.State, "")
	volumes, err2 := typed.List[block.DiscoveredVolumeSpec](ctx, i.State, "")

	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}

	for _, r := range all {
		disks = append(disks, *r.TypedSpec())
	}

	for _, r := range volumes {
		found = append(found, *r.TypedSpec())
	}

	return disks, found, nil
}

// choose returns the disk that is meant. It is neither the medium nor the disk that the firmware started from, which is another one when it has no
// release that can be read.
func (i *Installer) choose(want *view.Install, disks []block.DiskSpec, m *booted, started string) (string, error) {
	matches, err := meant(want, filepath.EvalSymlinks)
	if err != nil {
		return "", err
	}

	var (
		known  []install.Disk
		specs  = map[string]block.DiskSpec{}
		failed error
	)

	for _, spec := range disks {
		d, err := install.Inspect(i.Sys, spec.DevPath)
		if err != nil { // such as a drive without a disk in it
			if match, _ := matches(spec); match {
				failed = errors.Join(failed, err)
			}

			continue
		}

		switch {
		case m != nil && m.disk == spec.DevPath:
			d.Users = []string{"this boot: it is the medium that the machine was started from"}
		case started == spec.DevPath:
			d.Users = []string{"this boot: the firmware has started the machine from it"}
		}

		known, specs[d.Name] = append(known, d), spec
	}

	chosen, _, err := install.Choose(known, i.request(want, m), func(d install.Disk) (bool, error) { return matches(specs[d.Name]) })
	if err != nil {
		return "", errors.Join(err, failed)
	}

	return chosen.Name, nil
}

// request returns the request for package install. The image cache of a medium goes with it.
func (i *Installer) request(want *view.Install, m *booted) install.Request {
	r := install.Request{Firmware: install.UEFI, Wipe: want.Wipe}
	if !i.UEFI {
		r.Firmware = install.BIOS
	}

	if m != nil && m.cache != nil {
		r.ImageCache = uint64(m.cache.Size)
	}

	return r
}

// Install installs the machine as the configuration says. What was on the disk is lost from the first step on that say reports as writing.
func (i *Installer) Install(ctx context.Context, cfg *view.Config, say func(string)) error {
	return i.install(ctx, cfg, cfg.Install(), say)
}

// InstallTo is Install for a disk and an image that the configuration does not name. It never wipes a disk that is not empty. Without an image
// the release is that of the medium.
func (i *Installer) InstallTo(ctx context.Context, cfg *view.Config, disk, image string, say func(string)) error {
	if _, err := filepath.EvalSymlinks(disk); err != nil {
		return fmt.Errorf("choose a disk: %w: see talosctl get disks", err)
	}

	want := &view.Install{Disk: disk, Image: image}
	if in := cfg.Install(); in != nil {
		want.Args = in.Args
	}

	return i.install(ctx, cfg, want, say)
}

func (i *Installer) install(ctx context.Context, cfg *view.Config, want *view.Install, say func(string)) error {
	if !i.mu.TryLock() {
		return ErrBusy
	}
	defer i.mu.Unlock()

	p, err := i.prepare(ctx, want)
	if err != nil {
		return err
	}

	err = i.write(ctx, cfg, p, say)

	return errors.Join(err, p.close())
}

// write writes the system.
func (i *Installer) write(ctx context.Context, cfg *view.Config, p prepared, say func(string)) error {
	from, err := i.find(ctx, cfg, p.want.Image, p.medium)
	if err != nil {
		return err
	}

	running := from.system.Cmdline
	if p.medium != nil {
		running = p.medium.Cmdline
	}

	content, entry, err := i.content(from, arguments(from.system.Cmdline, i.Cmdline, running, p.want.Args))
	if err != nil {
		return err
	}

	if p.medium != nil {
		content.ImageCache = p.medium.cache
	}

	say(fmt.Sprintf("installing %s to %s", from.name, p.disk))

	written := install.To(ctx, i.Sys, p.disk, i.request(p.want, p.medium), content, say)
	if written != nil && !errors.Is(written, install.ErrNotRead) {
		return written
	}

	// The files of the disk start by themselves: without the variables, the boot loader starts its only version.
	if i.UEFI {
		if err := loader.StartFresh(i.Vars, entry); err != nil {
			say(fmt.Sprintf("the firmware does not have the name of the boot entry: %v", err))
		}
	}

	say(fmt.Sprintf("%s is on %s", from.system.Version, p.disk))

	return written
}

// content returns the boot partitions of a new system for the machine's firmware, and its boot entry if that is UEFI.
func (i *Installer) content(from source, args []string) (c install.Content, entry string, err error) {
	c = install.Content{Time: time.Now(), Serial: serial()}

	if !i.UEFI {
		c.GRUB = from.grub
		c.Boot, err = loader.BootFilesWith(from.system, args)

		return c, "", err
	}

	fresh, err := loader.New(from.loader, from.system, args)
	c.EFI = fresh.Files

	return c, fresh.ID, err
}

// serial returns a number for the file system.
func serial() uint32 {
	var b [4]byte
	rand.Read(b[:])

	return binary.LittleEndian.Uint32(b[:])
}
