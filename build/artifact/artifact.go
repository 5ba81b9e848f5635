// SPDX-License-Identifier: Apache-2.0

// Package artifact defines the targets of the build, and the paths of its results below the output folder. The build
// writes to these paths; talosctl and the tests read them. No other package has these paths. The package imports only
// the version, so that programs that read the results do not link the build.
//
//	bin/                        talosctl, imager, kubectl, talos (Paths.Bin), for users
//	images/                     rootfs.sqsh, initramfs.img, vmlinuz, Talos-VERSION.efi, imagecache.ext4, metal-amd64.raw (Paths.Disk)
//	components/bin/             each third-party program (Paths.Component)
//	components/rootfs/          tree for the root image: containerd, shim, runc, CNI plugins, mkfs.xfs and similar
//	                            tools with their libraries, CA certificates, and the links of a merged /usr (Paths.Rootfs)
//	components/kernel/          vmlinuz, and lib/modules/RELEASE with modules.dep (Paths.Vmlinuz, Paths.Modules)
//	components/boot/            systemd-bootx64.efi and linuxx64.efi.stub (Paths.Boot)
//	components/firmware/        OVMF_CODE.fd and OVMF_VARS.fd for QEMU (Paths.FirmwareCode, Paths.FirmwareVars)
//	components/image-layout/    all container images of a node as one OCI layout (Paths.ImageLayout)
//	components/image-layers/    a file system for each of their layers (Paths.ImageLayers)
//	components/conformance-image-layout/, components/conformance-image-layers/
//	                            the same with the images of Kubernetes' end-to-end tests; only on demand
//	cache/                      the build cache; remove it to build from scratch
package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/seed-59268b81/talos"

// FindRoot returns the closest folder with our go.mod, from the working directory upward.
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
