// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/lab/container"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
	"github.com/seed-59268b81/talos/lab/state"
)

func makeDisks(ctx context.Context, s *state.Lab, image string, args []string) error {
	if image != "" && s.Uses(state.QEMU) {
		if err := qemu.CopyBase(image, s.BasePath()); err != nil {
			return err
		}

		if err := addEntry(ctx, s, args); err != nil {
			return err
		}
	}

	for _, n := range s.Nodes {
		// The directory of a container can hold setuid programs, whose owner is a user of this computer: other users
		// must not run them.
		if err := os.MkdirAll(s.NodeDir(n.Name), 0o700); err != nil {
			return fmt.Errorf("create the directory of node %s: %w", n.Name, err)
		}

		if n.As() != state.QEMU {
			continue
		}

		if image != "" {
			if err := qemu.CreateOverlay(ctx, s.DiskPath(n.Name), s.DiskBase(), n.DiskGiB); err != nil {
				return err
			}

			if s.Machine.Record {
				if err := os.WriteFile(s.DiskLogPath(n.Name), nil, 0o600); err != nil {
					return fmt.Errorf("create the record of the disk of node %s: %w", n.Name, err)
				}
			}
		}

		for i, size := range n.ExtraDisksGiB {
			if err := qemu.CreateOverlay(ctx, s.ExtraDiskPath(n.Name, i), "", size); err != nil {
				return err
			}
		}
	}

	return nil
}

// addEntry adds arguments to the image that the machines start. A CD stays as it is.
func addEntry(ctx context.Context, s *state.Lab, args []string) error {
	if !s.Machine.CD {
		return qemu.AddEntry(ctx, s.BasePath(), qemu.Entry{Emulated: !accel.Choose(ctx, s.Machine.QEMU).KVM, Args: args})
	}

	if len(args) > 0 {
		return fmt.Errorf("a CD starts with its own arguments, without %q: make another one", args)
	}

	return nil
}

// The disk space of a container: its unpacked images and the first data of its pods. An unpacked root image is shared.
const (
	controlPlaneSpace = 3 << 30
	workerSpace       = 3 << 29
	rootSpace         = 512 << 20
)

// checkContainers checks whether this computer can run the lab's containers.
func checkContainers(s *state.Lab) error {
	if !s.Uses(state.Container) {
		return nil
	}

	needs := container.Needs{Dir: s.Dir}

	if info, err := os.Stat(s.Machine.Root); err == nil && !info.IsDir() {
		needs.Squashfs = true
		needs.Space += rootSpace

		for _, n := range s.Nodes {
			if n.As() == state.Container {
				needs.Space += map[state.Role]uint64{state.ControlPlane: controlPlaneSpace, state.Worker: workerSpace}[n.Role]
			}
		}
	}

	return container.Check(needs)
}

// unpackRoot unpacks the root image of the containers.
func unpackRoot(ctx context.Context, s *state.Lab) (err error) {
	if !s.Uses(state.Container) {
		return nil
	}

	if s.Machine.RootDir, err = container.Unpack(ctx, s.Machine.Root, s.RootsPath()); err != nil {
		return err
	}

	return s.Save()
}
