// SPDX-License-Identifier: Apache-2.0

// Package artifact names what a build makes, and where: the targets, and the paths below the output folder. The build
// publishes under these paths, and talosctl and the tests look there; nobody else spells one out. It imports nothing but
// the version, so that a program which only looks for the results does not link the build.
//
//	bin/                        talosctl, kubectl, talos (Paths.Bin): what people run
//	images/                     rootfs.sqsh, initramfs.img, vmlinuz, Talos-VERSION.efi, metal-amd64.raw (Paths.Disk)
//	components/bin/             each third-party program (Paths.Component)
//	components/rootfs/          tree to lay into the root image: containerd, shim, runc, CNI plugins, mkfs.xfs and its
//	                            kin with their libraries, CA certificates, and the links of a merged /usr (Paths.Rootfs)
//	components/kernel/          vmlinuz, and lib/modules/RELEASE with modules.dep (Paths.Vmlinuz, Paths.Modules)
//	components/boot/            systemd-bootx64.efi and linuxx64.efi.stub (Paths.Boot)
//	components/firmware/        OVMF_CODE.fd and OVMF_VARS.fd for QEMU (Paths.FirmwareCode, Paths.FirmwareVars)
//	components/image-layout/    every container image of a node as one OCI layout (Paths.ImageLayout)
//	components/image-layers/    a file system of each of their layers (Paths.ImageLayers)
//	components/conformance-image-layout/, components/conformance-image-layers/
//	                            these and the images of Kubernetes' end-to-end tests; only on demand
//	cache/                      the build cache; remove it to build from nothing
package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/seed-59268b81/talos"

// FindRoot goes up from the working directory to the folder with our go.mod.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}

	for ; ; dir = filepath.Dir(dir) {
		raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(raw), "module "+module+"\n") {
			return dir, nil
		}

		if dir == filepath.Dir(dir) {
			return "", errors.New("run this inside the repository: there is no go.mod of " + module + " here or above")
		}
	}
}

// Of returns the paths in the output folder of a repository.
func Of(root string) Paths { return Paths{Out: filepath.Join(root, "out")} }

// Find returns the paths in the output folder of the repository around the working directory.
func Find() (Paths, error) {
	root, err := FindRoot()

	return Of(root), err
}
