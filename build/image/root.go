// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/sys/sandbox"
)

// rootStep creates the root image.
func rootStep(o Options) graph.Step {
	needs := []string{artifact.TargetRootfs, artifact.TargetKernel, artifact.TargetTalos, artifact.TargetModprobe, artifact.TargetSandbox}

	return graph.Step{
		Name:   artifact.TargetRoot,
		About:  "the root image",
		Needs:  needs,
		Heavy:  true,
		Inputs: o.inputs(o.Version),
		Run: func(ctx context.Context, w *graph.Work) error {
			tree, remove, err := scratch(w.Dir)
			if err != nil {
				return err
			}
			defer remove()

			kernel, err := artifact.Modules(w.Needs[artifact.TargetKernel].Dir)
			if err != nil {
				return err
			}

			w.Progress("laying out")

			if err := layOutRoot(tree, rootParts{
				rootfs: w.Needs[artifact.TargetRootfs].Dir, modules: kernel, version: o.Version,
				programs: map[string]string{
					osProgram:           filepath.Join(w.Needs[artifact.TargetTalos].Dir, "talos"),
					"usr/sbin/modprobe": filepath.Join(w.Needs[artifact.TargetModprobe].Dir, "modprobe"),
					sandbox.Stage[1:]:   filepath.Join(w.Needs[artifact.TargetSandbox].Dir, "sandbox"),
				},
			}); err != nil {
				return err
			}

			w.Progress("packing")

			return squash(ctx, tree, filepath.Join(w.Dir, "rootfs.sqsh"))
		},
		Publish: map[string]string{"rootfs.sqsh": artifact.Published.Root()},
	}
}

// rootParts are the parts of the root image: third-party files, the kernel's modules, and our own programs by path.
type rootParts struct {
	rootfs, modules, version string
	programs                 map[string]string
}

// layOutRoot creates the tree of the root image.
func layOutRoot(tree string, parts rootParts) error {
	if err := graph.LinkTree(parts.rootfs, tree); err != nil {
		return fmt.Errorf("third-party files: %w", err)
	}

	// Only root may enter the root folder.
	if err := os.Chmod(tree, 0o700); err != nil {
		return err
	}

	if err := newSkeleton(parts.version).make(tree); err != nil {
		return fmt.Errorf("root image: %w", err)
	}

	for place, program := range parts.programs {
		if err := link(program, filepath.Join(tree, place)); err != nil {
			return fmt.Errorf("root image: /%s: %w", place, err)
		}
	}

	set, err := chooseModules(parts.modules, rootModules)
	if err != nil {
		return err
	}

	return installModules(parts.modules, filepath.Join(tree, "usr/lib/modules", filepath.Base(parts.modules)), set)
}

// squash creates a squashfs image of a tree. Larger blocks compress better, but the kernel reads a whole block for
// each byte in it: beyond 256 KiB images get little smaller, and page faults get slower.
func squash(ctx context.Context, tree, image string) error {
	stamp := strconv.FormatInt(epoch.Unix(), 10)

	if err := run(ctx, nil, "mksquashfs", tree, image,
		"-noappend", "-no-progress", "-quiet", "-exit-on-error", "-all-root", "-no-xattrs",
		"-comp", "zstd", "-Xcompression-level", "15", "-b", "256K", "-mkfs-time", stamp, "-all-time", stamp); err != nil {
		return err
	}

	return os.Chmod(image, 0o644)
}
