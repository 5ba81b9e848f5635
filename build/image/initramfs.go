// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/cpio"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/machine/boot"
	"github.com/seed-59268b81/talos/sys/module"
)

// initramfsStep creates the initramfs.
func initramfsStep(o Options) graph.Step {
	return graph.Step{
		Name:   artifact.TargetInitramfs,
		About:  "the initramfs",
		Needs:  []string{artifact.TargetRoot, artifact.TargetKernel, artifact.TargetInit},
		Inputs: o.inputs(),
		Run: func(_ context.Context, w *graph.Work) error {
			kernel := w.Needs[artifact.TargetKernel].Dir

			modules, err := artifact.Modules(kernel)
			if err != nil {
				return err
			}

			f, err := os.Create(filepath.Join(w.Dir, "initramfs.img"))
			if err != nil {
				return err
			}
			defer f.Close()

			if err := writeEarly(f, filepath.Join(w.Needs[artifact.TargetInit].Dir, "init"), modules); err != nil {
				return err
			}

			if err := writeRoot(f, filepath.Join(w.Needs[artifact.TargetRoot].Dir, "rootfs.sqsh")); err != nil {
				return err
			}

			if err := f.Close(); err != nil {
				return err
			}

			return link(filepath.Join(kernel, "vmlinuz"), filepath.Join(w.Dir, "vmlinuz"))
		},
		Publish: map[string]string{"initramfs.img": artifact.Published.Initramfs(), "vmlinuz": artifact.Published.Kernel()},
	}
}

// writeEarly writes the first archive, compressed: init and the modules that it loads.
func writeEarly(out io.Writer, initProgram, modules string) error {
	packer, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}

	archive := cpio.NewWriter(packer, uint32(epoch.Unix()))

	// The kernel opens /dev/console for init before any mount.
	for _, dir := range []string{"dev", "proc", "sys", "root", "modules"} {
		if err := archive.Folder(dir, 0o755); err != nil {
			return err
		}
	}

	if err := archive.CharDevice("dev/console", 0o600, 5, 1); err != nil {
		return err
	}

	if err := addFile(archive, "init", 0o755, initProgram); err != nil {
		return err
	}

	if err := addModules(archive, modules, boot.ModuleList, initramfsModules); err != nil {
		return err
	}

	if err := addModules(archive, modules, boot.EvidenceList, evidenceModules); err != nil {
		return err
	}

	if err := addModules(archive, modules, boot.WatchdogList, watchdogModules); err != nil {
		return err
	}

	if err := archive.Close(); err != nil {
		return err
	}

	return packer.Close()
}

// addModules adds the files of modules that this kernel has, and a list of them in load order.
func addModules(archive *cpio.Writer, dir, listFile string, names []string) error {
	set, err := chooseModules(dir, names)
	if err != nil {
		return err
	}

	var list strings.Builder

	for _, f := range set.files {
		name, err := addModule(archive, filepath.Join(dir, f))
		if err != nil {
			return err
		}

		line := "/" + name
		if path.Base(name) == boot.SoftwareWatchdog+".ko" {
			line += " " + watchdogParams
		}

		fmt.Fprintln(&list, line)
	}

	return archive.File(strings.TrimPrefix(listFile, "/"), 0o644, int64(list.Len()), strings.NewReader(list.String()))
}

// addModule adds a kernel module, uncompressed, because not every kernel decompresses modules. It returns the name in the
// archive.
func addModule(archive *cpio.Writer, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("initramfs: %w", err)
	}
	defer f.Close()

	image, err := module.Unpack(file, f)
	if err != nil {
		return "", fmt.Errorf("initramfs: %w", err)
	}

	base, _, _ := strings.Cut(path.Base(file), ".ko")
	name := "modules/" + base + ".ko"

	return name, archive.File(name, 0o644, int64(len(image)), bytes.NewReader(image))
}

// writeRoot writes the second archive, uncompressed: the root image, which is compressed itself. The kernel expects
// an archive to start at a multiple of four bytes, and skips zeros before it.
func writeRoot(out io.WriteSeeker, image string) error {
	at, err := out.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}

	if _, err := out.Write(make([]byte, (4-at%4)%4)); err != nil {
		return err
	}

	archive := cpio.NewWriter(out, uint32(epoch.Unix()))

	if err := addFile(archive, strings.TrimPrefix(boot.RootImage, "/"), 0o444, image); err != nil {
		return err
	}

	return archive.Close()
}

func addFile(archive *cpio.Writer, name string, mode os.FileMode, source string) error {
	f, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}

	return archive.File(name, mode, info.Size(), f)
}
