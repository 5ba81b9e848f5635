// SPDX-License-Identifier: Apache-2.0

package fileset

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
)

// biosSets are the files from Debian for machines with a BIOS.
var biosSets = []set{{
	name: artifact.TargetGRUB, about: "GRUB for machines with a BIOS",
	packages: []string{
		"grub-common", "grub-pc-bin", "libc6", "libdevmapper1.02.1", "liblzma5", "libpcre2-8-0", "libselinux1", "libudev1",
	},
	finish: grubFiles, publish: artifact.Published.GRUB(),
}}

// grubPrefix is the folder of GRUB's configuration on the disk from which the BIOS starts: in the third partition, which is BOOT in each
// layout with a BIOS (package install).
const grubPrefix = "(,gpt3)/grub"

// grubModules are those that start a system (package loader). GRUB loads no others.
var grubModules = []string{"biosdisk", "part_gpt", "fat", "normal", "configfile", "linux", "loadenv", "reboot", "test"}

// grubCDPrefix is the folder of GRUB's configuration on a CD, or a USB stick with the image of a CD: on the drive from which the BIOS starts.
const grubCDPrefix = "/boot/grub"

// grubCDModules are those that start a system from the unified kernel image on a CD (package image).
var grubCDModules = []string{"biosdisk", "iso9660", "fat", "loopback", "normal", "linux", "test"}

// grubStep returns the step of a set, whose cores have more inputs.
func grubStep(s set, from *Packages) graph.Step {
	step := s.step(from)
	inputs := step.Inputs
	step.Inputs = func(ctx context.Context, r graph.Results) ([]string, error) {
		in, err := inputs(ctx, r)

		return append(in, grubPrefix, strings.Join(grubModules, " "), grubCDPrefix, strings.Join(grubCDModules, " ")), err
	}

	return step
}

// grubFiles creates the cores of GRUB, with the program of the package and its own libraries.
func grubFiles(ctx context.Context, tree, dir string) error {
	modules := filepath.Join(tree, "usr/lib/grub/i386-pc")

	err := grubCore(ctx, tree, "i386-pc", grubPrefix, filepath.Join(dir, artifact.GRUBCore), grubModules)
	if err == nil {
		err = grubCore(ctx, tree, "i386-pc-eltorito", grubCDPrefix, filepath.Join(dir, artifact.GRUBCD), grubCDModules)
	}

	if err != nil {
		return err
	}

	return takeFiles(modules, dir, map[string]string{"boot.img": artifact.GRUBBoot, "boot_hybrid.img": artifact.GRUBHybrid})
}

// grubCore creates a core of GRUB.
func grubCore(ctx context.Context, tree, format, prefix, output string, modules []string) error {
	const libraries = "lib/x86_64-linux-gnu"

	//program:built the loader of programs in the package libc6
	cmd := exec.CommandContext(ctx, filepath.Join(tree, libraries, "ld-linux-x86-64.so.2"), append([]string{
		"--library-path", filepath.Join(tree, libraries) + ":" + filepath.Join(tree, "usr", libraries),
		filepath.Join(tree, "usr/bin/grub-mkimage"), "--format", format, "--directory", filepath.Join(tree, "usr/lib/grub/i386-pc"),
		"--prefix", prefix, "--output", output,
	}, modules...)...)

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("grub-mkimage --format %s: %w: %s", format, err, out)
	}

	return nil
}
