// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// args returns QEMU's arguments for a disk with an id.
//
// A flush by the guest reaches the host's page cache, which outlives a killed QEMU: a power cut loses only what the guest had not flushed. To
// wait for this computer's disk would only be slower.
func (d Disk) args(id string) []string {
	if d.Log != "" {
		// The log goes on at the next start. QEMU begins a new one if it is not told that there is one.
		log := fmt.Sprintf("driver=blklogwrites,node-name=%s,file=%s-content,log=%s-log", id, id, id)
		if info, err := os.Stat(d.Log); err == nil && info.Size() > 0 {
			log += ",log-append=on"
		}

		return []string{
			"-blockdev", fmt.Sprintf("driver=file,node-name=%s-file,cache.no-flush=on,discard=unmap,filename=%s", id, comma(d.Path)),
			"-blockdev", fmt.Sprintf("driver=%s,node-name=%s-content,file=%s-file,cache.no-flush=on,discard=unmap", d.Format, id, id),
			"-blockdev", fmt.Sprintf("driver=file,node-name=%s-log,cache.no-flush=on,filename=%s", id, comma(d.Log)),
			"-blockdev", log,
		}
	}

	return []string{"-drive", fmt.Sprintf("if=none,id=%s,format=%s,cache=unsafe,discard=unmap,file=%s", id, d.Format, comma(d.Path))}
}

// CopyBase copies a disk image as the base of a lab's overlays, so that the next build of the image does not change
// disks in use. Holes stay holes. If the file system can, both files share their blocks.
func CopyBase(from, to string) error {
	if err := copyBase(from, to); err != nil {
		return fmt.Errorf("copy disk image %s to %s: %w", from, to, err)
	}

	return nil
}

func copyBase(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()

	out, err := os.OpenFile(to, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}

	info, err := in.Stat()
	if err != nil {
		return err
	}

	if err := out.Truncate(info.Size()); err != nil {
		return err
	}

	for at := int64(0); at < info.Size(); {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // only a hole is left
			return nil
		}

		if err != nil {
			return fmt.Errorf("find data after offset %d: %w", at, err)
		}

		hole, err := unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			return fmt.Errorf("find a hole after offset %d: %w", data, err)
		}

		if _, err := io.Copy(io.NewOffsetWriter(out, data), io.NewSectionReader(in, data, hole-data)); err != nil {
			return err
		}

		at = hole
	}

	return nil
}

// CreateOverlay creates a disk with the content of a raw image, which must be in the same directory or have an absolute
// path. The disk takes only the space of the writes to it. Its size is the larger of sizeGiB and the image's size.
func CreateOverlay(ctx context.Context, path, base string, sizeGiB int) error {
	size := int64(sizeGiB) << 30

	args := []string{"create", "-q", "-f", "qcow2"}

	if base != "" {
		info, err := os.Stat(base)
		if err != nil {
			return fmt.Errorf("create disk %s: %w", path, err)
		}

		size = max(size, info.Size())

		if relative, err := filepath.Rel(filepath.Dir(path), base); err == nil {
			base = relative // the lab's directory can be moved
		}

		args = append(args, "-b", base, "-F", "raw")
	}

	var stderr bytes.Buffer

	cmd := exec.CommandContext(ctx, "qemu-img", append(args, path, fmt.Sprint(size))...)
	cmd.Stderr = &stderr

	if err := cmd.Run(); err != nil {
		return fmt.Errorf("create disk %s: qemu-img: %w: %s", path, err, bytes.TrimSpace(stderr.Bytes()))
	}

	return nil
}
