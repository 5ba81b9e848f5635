// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"slices"

	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// arch is the architecture of all images.
const arch = "amd64"

// metal is the platform of computers that are not a cloud's.
const metal = "metal"

var platforms = append([]string{metal}, cloud.Names()...)

const (
	gib = 1 << 30
	// usual is the size of a disk that a cloud does not enlarge by itself. The machine uses what is larger.
	usual = 8 * gib
)

func disk(platform string, packing Packing, o DiskOptions) Profile {
	o.Format = Raw

	return Profile{Arch: arch, Platform: platform, Output: Output{Kind: Image, Packing: packing, Disk: o}}
}

func other(kind Kind) Profile {
	return Profile{Arch: arch, Platform: metal, Output: Output{Kind: kind}}
}

// profiles are all profiles by name. That of a cloud has the cloud's name. The forms are those that the clouds import.
var profiles = func() map[string]Profile {
	all := map[string]Profile{
		metal: disk(metal, Zstd, DiskOptions{}), "iso": other(ISO), "installer": other(Installer), "metal-uki": other(UKI), "pxe": other(PXE),
		"akamai":        disk("akamai", Gzip, DiskOptions{}),
		"digital-ocean": disk("digital-ocean", Gzip, DiskOptions{}),
		// The disk is named disk.raw and has a multiple of 1 GiB.
		"gcp": disk("gcp", Tar, DiskOptions{multiple: gib}),
		// These have no disks to install to: the server starts over the network.
		"equinixMetal": {Arch: arch, Platform: "equinixMetal", Output: Output{Kind: PXE}},
	}

	for name, format := range map[string]DiskFormat{"alibabacloud": Qcow2, "exoscale": Qcow2, "oracle": Qcow2, "azure": VHD, "vmware": OVA} {
		p := disk(name, Unpacked, DiskOptions{Size: usual})
		p.Output.Disk.Format = format
		all[name] = p
	}

	for _, name := range platforms {
		if _, there := all[name]; !there {
			all[name] = disk(name, Zstd, DiskOptions{})
		}
	}

	return all
}()

// Platforms returns the names of the platforms.
func Platforms() []string { return slices.Clone(platforms) }
