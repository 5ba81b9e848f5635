// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

// distributionFirmware lists the paths of the UEFI firmware in distributions.
var distributionFirmware = [][2]string{
	{"/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
	{"/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"},
	{"/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"},
	{"/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"},
}

// outputs returns the folders that a build may have written to: the one of this program, and the one in the current directory.
func outputs() []string {
	folders := []string{"out"}

	if self, err := os.Executable(); err == nil {
		folders = append([]string{filepath.Join(filepath.Dir(self), "..")}, folders...)
	}

	return folders
}

// image returns what machines of the provisioners run: the files that the flags name, or else the ones that were built.
func (f *createFlags) image(provisioners ...state.Provisioner) (lab.Image, error) {
	var image lab.Image

	if slices.Contains(provisioners, state.QEMU) {
		if err := f.boot(&image); err != nil {
			return image, err
		}
	}

	if slices.Contains(provisioners, state.Container) {
		if image.Root = cmp.Or(f.root, find(artifact.Paths.Root)); image.Root == "" {
			return image, fmt.Errorf("no root image in %s: run make build, or name one with --root-image-path", strings.Join(outputs(), " or "))
		}

		// Without a cache the machines pull from registries.
		image.Cache = cmp.Or(f.cache, find(artifact.Paths.ImageLayout))
	}

	return image, nil
}

// boot sets what virtual machines boot.
func (f *createFlags) boot(image *lab.Image) error {
	if image.Disk = cmp.Or(f.disk, find(artifact.Paths.Disk)); image.Disk == "" {
		return fmt.Errorf("no disk image in %s: run make build, or name one with --disk-image-path", strings.Join(outputs(), " or "))
	}

	if !f.uefi {
		image.BIOS = true

		return nil
	}

	if (f.firmware.Code == "") != (f.firmware.Vars == "") {
		return fmt.Errorf("--firmware-code-path and --firmware-vars-path go together")
	}

	firmware := f.firmware
	if firmware.Code == "" {
		firmware.Code, firmware.Vars = find(artifact.Paths.FirmwareCode), find(artifact.Paths.FirmwareVars)
	}

	for _, pair := range distributionFirmware {
		if firmware.Code == "" && exists(pair[0]) && exists(pair[1]) {
			firmware.Code, firmware.Vars = pair[0], pair[1]
		}
	}

	if firmware.Code == "" {
		return fmt.Errorf("no UEFI firmware for QEMU: run make build, install it (Debian: ovmf), or name it with --firmware-code-path")
	}

	image.Firmware = &firmware

	return nil
}

// find returns the path of a file that was built, or "".
func find(place func(artifact.Paths) string) string {
	for _, folder := range outputs() {
		if path := place(artifact.Paths{Out: folder}); exists(path) {
			return path
		}
	}

	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)

	return err == nil
}
