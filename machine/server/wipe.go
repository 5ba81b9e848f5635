// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/storage"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/platform"
)

// BlockDeviceWipe implements storage.StorageService. It wipes no device until it has checked that all of them are unused.
func (s *diskService) BlockDeviceWipe(ctx context.Context, req *storage.BlockDeviceWipeRequest) (*storage.BlockDeviceWipeResponse, error) {
	// In a container /sys has the host's disks, and /dev may have them too.
	if !s.server.Platform.Owns(platform.Disks) {
		return nil, status.Error(codes.FailedPrecondition, noDisks)
	}

	devices, err := disk.Scan(s.server.path("sys"))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "wipe: %v", err)
	}

	volumes, err := typed.List[block.VolumeStatusSpec](ctx, s.server.State, "")
	if err != nil {
		return nil, status.Errorf(codes.Internal, "wipe: %v", err)
	}

	if len(req.GetDevices()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "wipe: name at least one device")
	}

	var wipes []wipe

	for _, d := range req.GetDevices() {
		w := wipe{request: d, sys: s.server.path("sys")}
		if err := w.check(devices, volumes); err != nil {
			return nil, err
		}

		wipes = append(wipes, w)
	}

	for _, w := range wipes {
		if err := w.run(ctx); err != nil {
			return nil, fileError("wipe "+w.device.Name, err)
		}
	}

	return &storage.BlockDeviceWipeResponse{Messages: []*storage.BlockDeviceWipe{{}}}, nil
}

// noDisks is the answer in a container.
const noDisks = "wipe: a container has no disks of its own; see: talosctl get platformconditions"

type volumeStatus = *resource.Typed[block.VolumeStatusSpec]

// wipe is the wipe of one device.
type wipe struct {
	request *storage.BlockDeviceWipeDescriptor
	sys     string

	device disk.Device
	parent disk.Device // of a partition
}

// check finds the device, and refuses one that is in use as far as that shows without opening it.
func (w *wipe) check(devices []disk.Device, volumes []volumeStatus) error {
	name := strings.TrimPrefix(w.request.GetDevice(), "/dev/")

	i := slices.IndexFunc(devices, func(d disk.Device) bool { return d.Name == name })
	if i < 0 {
		return status.Errorf(codes.NotFound, "wipe %q: there is no such block device; the list of discovered volumes has the names", w.request.GetDevice())
	}

	w.device = devices[i]

	switch w.request.GetMethod() {
	case storage.BlockDeviceWipeDescriptor_FAST, storage.BlockDeviceWipeDescriptor_ZEROES:
	default:
		return status.Errorf(codes.InvalidArgument, "wipe %s: method %d is unknown; use FAST or ZEROES", name, w.request.GetMethod())
	}

	if w.device.Partition == 0 && w.request.GetDropPartition() {
		return status.Errorf(codes.InvalidArgument, "wipe %s: it is not a partition, so it cannot be dropped", name)
	}

	id, err := disk.Identify(w.sys, name)
	if err != nil {
		return fileError("wipe "+name, err)
	}

	if id.ReadOnly || id.CDROM {
		return status.Errorf(codes.FailedPrecondition, "wipe %s: it is read-only", name)
	}

	// Wiping a disk wipes its partitions too.
	whole := []disk.Device{w.device}

	for _, d := range devices {
		switch {
		case d.Parent == name:
			whole = append(whole, d)
		case w.device.Partition > 0 && d.Name == w.device.Parent:
			w.parent = d
		}
	}

	if !w.request.GetSkipVolumeCheck() {
		if err := unusedByVolumes(name, whole, volumes); err != nil {
			return err
		}
	}

	if !w.request.GetSkipSecondaryCheck() {
		return unusedByDevices(name, whole, devices)
	}

	return nil
}

func unusedByVolumes(name string, whole []disk.Device, volumes []volumeStatus) error {
	for _, v := range volumes {
		if slices.ContainsFunc(whole, func(d disk.Device) bool { return d.Path == v.TypedSpec().Location }) {
			return status.Errorf(codes.FailedPrecondition, "wipe %s: volume %s is on %s; remove the volume from the configuration first",
				name, v.Metadata().ID(), v.TypedSpec().Location)
		}
	}

	return nil
}

func unusedByDevices(name string, whole, devices []disk.Device) error {
	for _, d := range devices {
		if slices.ContainsFunc(whole, func(w disk.Device) bool { return slices.Contains(d.Secondaries, w.Name) }) {
			return status.Errorf(codes.FailedPrecondition, "wipe %s: it is part of device %s; remove that device first", name, d.Name)
		}
	}

	return nil
}

// run wipes the device, unless the kernel reports that it is in use.
func (w *wipe) run(ctx context.Context) error {
	if err := w.wipeContents(ctx); err != nil {
		return err
	}

	if w.request.GetDropPartition() {
		if err := w.dropPartition(); err != nil {
			return err
		}
	} else if err := w.notify(w.device.Name); err != nil {
		return err
	}

	if w.parent.Name != "" {
		return w.notify(w.parent.Name)
	}

	return nil
}

func (w *wipe) wipeContents(ctx context.Context) error {
	f, err := disk.OpenUnused(w.device.Path)
	if err != nil {
		return err
	}
	defer f.Close()

	if w.request.GetMethod() == storage.BlockDeviceWipeDescriptor_ZEROES {
		err = f.Zero(ctx)
	} else {
		err = f.WipeSignatures()
	}

	if err == nil && w.device.Partition == 0 {
		err = f.ForgetPartitions()
	}

	return err
}

func (w *wipe) dropPartition() error {
	f, err := disk.Open(w.parent.Path, true)
	if err != nil {
		return err
	}
	defer f.Close()

	table, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil {
		return fmt.Errorf("partition table of %s: %w", w.parent.Name, err)
	}

	if err := table.Delete(w.device.Partition); err != nil {
		return err
	}

	if err := table.Write(f); err != nil {
		return fmt.Errorf("partition table of %s: %w", w.parent.Name, err)
	}

	return f.DropPartition(w.device.Partition)
}

// notify triggers a uevent of the device, so that its readers see the change. The device may no longer exist.
func (w *wipe) notify(name string) error {
	if err := disk.Notify(w.sys, filepath.Base(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	return nil
}
