// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package volume reads files of file systems that are found by their label, such as those of a configuration drive. It is a Fetch of
// package cloud for URLs of the scheme volume: volume://cidata/user-data. The label * means each CD (iso9660 or UDF) on which the file is:
// Azure's has a label that changes.
//
// The file system is mounted read-only for the time of a read. It is iso9660, vfat or UDF, as those drives are; another one is not mounted.
package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// Scheme of URLs.
const Scheme = "volume"

// maxFile in bytes.
const maxFile = 16 << 20

// Reader finds file systems.
type Reader struct {
	// Settled is closed when all devices have drivers: a label that is not found then is on no device.
	Settled <-chan struct{}
	// Load loads the module of a file system; nil if the kernel needs none.
	Load func(name string, params ...string) error

	// devices lists the file systems with their labels, and read reads a file of one; tests replace them.
	devices func() ([]device, error)
	read    func(device, string) ([]byte, error)
}

// device is a block device with a file system.
type device struct{ path, fileSystem, label string }

// Fetch implements cloud.Fetch.
func (v *Reader) Fetch(_ context.Context, r cloud.Request) ([]byte, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != Scheme || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return nil, fmt.Errorf("%q is not volume://LABEL/PATH", r.URL)
	}

	// Read before the devices: a device that appears between the two is found.
	settled := v.settled()

	all, err := v.list()
	if err != nil {
		return nil, err
	}

	var failed error

	for _, d := range all {
		if !d.called(u.Host) {
			continue
		}

		text, err := v.file(d, strings.Trim(u.Path, "/"))
		if err == nil || u.Host != cloud.AnyLabel {
			return text, err
		}

		if !errors.Is(err, cloud.ErrNotFound) {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", d.path, err))
		}
	}

	switch {
	case failed != nil:
		return nil, failed
	case settled:
		return nil, cloud.ErrNotFound
	case u.Host == cloud.AnyLabel:
		return nil, fmt.Errorf("no CD has the file %s, and not all devices have a driver yet", strings.Trim(u.Path, "/"))
	default:
		return nil, fmt.Errorf("no file system has the label %s, and not all devices have a driver yet", u.Host)
	}
}

// called reports whether a device has a label.
func (d device) called(label string) bool {
	if label == cloud.AnyLabel {
		return d.fileSystem != blkid.VFAT // the boot partition of each machine is one
	}

	return strings.EqualFold(d.label, label) // FAT has labels in upper case only
}

func (v *Reader) settled() bool {
	select {
	case <-v.Settled:
		return true
	default:
		return false
	}
}

func (v *Reader) list() ([]device, error) {
	if v.devices != nil {
		return v.devices()
	}

	return scan()
}

func (v *Reader) file(d device, path string) ([]byte, error) {
	if v.read != nil {
		return v.read(d, path)
	}

	return v.mounted(d, path)
}

// scan probes all block devices. A device that cannot be read is left out: it may be an empty drive.
func scan() ([]device, error) {
	all, err := disk.Scan(disk.Sys)
	if err != nil {
		return nil, err
	}

	var out []device

	for _, d := range all {
		info, err := probe(d.Path)
		if err == nil && slices.Contains([]string{blkid.ISO9660, blkid.VFAT, blkid.UDF}, info.Name) {
			out = append(out, device{d.Path, info.Name, info.Label})
		}
	}

	return out, nil
}

func probe(path string) (blkid.Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return blkid.Info{}, err
	}
	defer f.Close()

	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return blkid.Info{}, err
	}

	return blkid.Probe(f, uint64(size), 512)
}

// mounted reads a file of a file system that it mounts for that.
func (v *Reader) mounted(d device, path string) (text []byte, err error) {
	if v.Load != nil {
		// A kernel with the file system built in has no module: the mount tells.
		_ = v.Load("fs-" + d.fileSystem)
	}

	target, err := os.MkdirTemp("", "volume-")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.path, err)
	}
	defer func() { err = errors.Join(err, os.Remove(target)) }()

	point := mount.Point{
		Source: d.path, Target: target, FSType: d.fileSystem, Flags: mount.ReadOnly | mount.NoSuid | mount.NoDev | mount.NoExec,
	}
	if err := point.Mount(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mount.Unmount(target)) }()

	return readFile(target, path)
}

// readFile reads a file below a folder; symbolic links do not lead out of it.
func readFile(dir, path string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()

	f, err := root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cloud.ErrNotFound
	}

	if err != nil {
		return nil, err
	}
	defer f.Close()

	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}

	if len(text) > maxFile {
		return nil, fmt.Errorf("read %s: more than %d MiB", path, maxFile>>20)
	}

	return text, nil
}
