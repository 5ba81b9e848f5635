// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/runtime"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// InstallDiskSelector selects the disk to install to by its properties. Those that are set must match.
type InstallDiskSelector = v1alpha1.InstallDiskSelector

// Install is what a machine that is on no disk yet does to be on one.
type Install struct {
	// Match is an expression over disk. Without one, the disk is that of the selector, or the one with the path.
	Match    string
	Selector InstallDiskSelector
	Disk     string
	// Image is that of the release, or "" for the one that runs.
	Image string
	// Args are more arguments of the kernel. One that begins with - removes an argument.
	Args []string
	// Wipe permits to destroy what is on the disk, and Reboot restarts the machine from it.
	Wipe, Reboot bool
}

// Install returns how the machine is installed, or nil when the configuration names no disk. A document takes the place of the section of the
// main document, whose machines always restart; the kernel's arguments are in the section only. Without an image and a word about it, the document
// continues without a restart: what runs is what was installed.
func (c *Config) Install() *Install {
	in := &c.main.Machine.Install

	if d := config.Find[*runtime.UnattendedInstallConfig](c.all); d != nil {
		image := string(d.Installer.Image)

		return &Install{
			Match: string(d.Provisioning.DiskSelector.Match), Image: image, Args: in.ExtraKernelArgs, Wipe: d.Provisioning.Wipe,
			Reboot: IsTrueOr(d.Reboot, image != ""),
		}
	}

	out := &Install{
		Selector: in.DiskSelector, Disk: in.Disk, Image: in.Image, Args: in.ExtraKernelArgs, Wipe: IsTrue(in.Wipe), Reboot: true,
	}

	if out.Selector == (InstallDiskSelector{}) && out.Disk == "" {
		return nil
	}

	return out
}
