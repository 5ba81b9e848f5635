// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/sbom"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/sandbox"
	"github.com/seed-59268b81/talos/sys/spdx"
)

// rootStep creates the root image.
func rootStep(o Options) graph.Step {
	needs := []string{artifact.TargetRootfs, artifact.TargetKernel, artifact.TargetTalos, artifact.TargetModprobe, artifact.TargetSandbox}

	return graph.Step{
		Name:  artifact.TargetRoot,
		About: "the root image",
		Needs: needs,
		Heavy: true,
		Inputs: func(ctx context.Context, r graph.Results) ([]string, error) {
			software, err := o.software(ctx)
			if err != nil {
				return nil, err
			}

			values := []string{o.Version, fmt.Sprint(software), strings.Join(o.Drivers, " ")}

			for _, folder := range []string{"build/sbom", "sys/spdx"} {
				hash, err := o.hashFolder(folder)
				if err != nil {
					return nil, err
				}

				values = append(values, hash)
			}

			return o.inputs(values...)(ctx, r)
		},
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

			software, err := o.software(ctx)
			if err != nil {
				return err
			}

			w.Progress("laying out")

			if err := layOutRoot(tree, rootParts{
				rootfs: w.Needs[artifact.TargetRootfs].Dir, modules: kernel, version: o.Version, drivers: o.Drivers, software: software,
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
	drivers                  []string
	software                 []debian.Package
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

	drivers, err := modulesLike(parts.modules, parts.drivers)
	if err != nil {
		return err
	}

	set, err := chooseModules(parts.modules, slices.Concat(rootModules, drivers))
	if err != nil {
		return err
	}

	if err := installModules(parts.modules, filepath.Join(tree, "usr/lib/modules", filepath.Base(parts.modules)), set); err != nil {
		return err
	}

	return writeSBOM(tree, parts)
}

// writeSBOM writes the list of the software in the root image into it.
func writeSBOM(tree string, parts rootParts) error {
	all, err := sbom.Of(tree, parts.version, parts.software)
	if err != nil {
		return err
	}

	text, err := spdx.Encode("talos-"+parts.version, epoch, all)
	if err != nil {
		return err
	}

	file := filepath.Join(tree, layout.SBOMDir, "talos.spdx.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}

	return os.WriteFile(file, text, 0o644)
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
