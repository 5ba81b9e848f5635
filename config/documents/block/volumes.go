// SPDX-License-Identifier: Apache-2.0

package block

import (
	"github.com/seed-59268b81/talos/config/document"
)

// UserVolumeConfig creates a volume that is mounted at /var/mnt/NAME.
type UserVolumeConfig struct {
	document.Named `yaml:",inline"`
	// Whether the volume is a partition, a whole disk, or a folder of EPHEMERAL.
	VolumeType VolumeType `yaml:"volumeType,omitempty"`
	// Where the volume is created, and how large it is.
	Provisioning Provisioning `yaml:"provisioning,omitempty"`
	// The file system.
	Filesystem Filesystem `yaml:"filesystem,omitempty"`
	// How the volume is encrypted.
	Encryption *Encryption `yaml:"encryption,omitempty" protects:"true"`
	// How the volume is mounted.
	Mount MountOptions `yaml:"mount,omitempty"`
	// Regular trimming of this volume.
	Trim *Maintenance `yaml:"trim,omitempty"`
	// Regular checking of this volume.
	Scrub *Maintenance `yaml:"scrub,omitempty"`
}

// VolumeType is what a volume is on.
type VolumeType string

// The types.
const (
	VolumePartition VolumeType = "partition"
	VolumeDisk      VolumeType = "disk"
	VolumeDirectory VolumeType = "directory"
)

// Values implements document.Enum.
func (VolumeType) Values() []string {
	return document.EnumOf(VolumePartition, VolumeDisk, VolumeDirectory)
}

// Filesystem is the file system of a volume.
type Filesystem struct {
	// The type; xfs without it.
	Type FilesystemType `yaml:"type,omitempty"`
	// Whether the file system counts what projects use.
	ProjectQuotaSupport bool `yaml:"projectQuotaSupport,omitempty"`
	// Settings of XFS.
	XFS *XFS `yaml:"xfs,omitempty"`
}

// FilesystemType is a type of file systems.
type FilesystemType string

// The types.
const (
	FilesystemXFS   FilesystemType = "xfs"
	FilesystemEXT4  FilesystemType = "ext4"
	FilesystemBtrfs FilesystemType = "btrfs"
)

// Values implements document.Enum.
func (FilesystemType) Values() []string {
	return document.EnumOf(FilesystemXFS, FilesystemEXT4, FilesystemBtrfs)
}

var userVolume = document.Of[UserVolumeConfig]("UserVolumeConfig", `apiVersion: v1alpha1
kind: UserVolumeConfig
name: database
provisioning:
    diskSelector:
        match: disk.transport == "nvme" && !system_disk
    minSize: 10GiB
    maxSize: 80%
filesystem:
    type: ext4
`)

// Validate implements document.Validator.
func (c *UserVolumeConfig) Validate(r *document.Report) {
	name(r, c.DocName)
	c.Provisioning.validate(r)
	c.Encryption.validate(r)
	maintenance(r, c.Trim, c.Scrub)

	switch c.VolumeType {
	case VolumeDirectory:
		if c.Provisioning != (Provisioning{}) || c.Encryption != nil || c.Filesystem != (Filesystem{}) {
			r.Wrong("volumeType", "a directory has no provisioning, filesystem and encryption: it is a part of EPHEMERAL")
		}
	case VolumeDisk:
		if c.Provisioning.Grow != nil || c.Provisioning.MinSize != 0 || !c.Provisioning.MaxSize.IsZero() {
			r.Wrong("volumeType", "a whole disk has no grow, minSize and maxSize")
		}
	default:
		c.Provisioning.needsDisk(r)
	}

	if c.Filesystem.XFS != nil && c.Filesystem.Type != "" && c.Filesystem.Type != FilesystemXFS {
		r.Wrong("filesystem.xfs", "is for the type %s only", FilesystemXFS)
	}
}

// RawVolumeConfig creates a partition r-NAME without a file system.
type RawVolumeConfig struct {
	document.Named `yaml:",inline"`
	// Where the volume is created, and how large it is.
	Provisioning Provisioning `yaml:"provisioning" required:"true"`
	// How the volume is encrypted.
	Encryption *Encryption `yaml:"encryption,omitempty" protects:"true"`
}

var rawVolume = document.Of[RawVolumeConfig]("RawVolumeConfig", `apiVersion: v1alpha1
kind: RawVolumeConfig
name: ceph
provisioning:
    diskSelector:
        match: disk.transport == "nvme" && !system_disk
    minSize: 100GiB
`)

// Validate implements document.Validator.
func (c *RawVolumeConfig) Validate(r *document.Report) {
	name(r, c.DocName)
	c.Provisioning.partition(r)
	c.Encryption.validate(r)
}

// SwapVolumeConfig creates a partition s-NAME to which the kernel moves memory that is seldom used.
type SwapVolumeConfig struct {
	document.Named `yaml:",inline"`
	// Where the volume is created, and how large it is.
	Provisioning Provisioning `yaml:"provisioning" required:"true"`
	// How the volume is encrypted.
	Encryption *Encryption `yaml:"encryption,omitempty" protects:"true"`
}

var swapVolume = document.Of[SwapVolumeConfig]("SwapVolumeConfig", `apiVersion: v1alpha1
kind: SwapVolumeConfig
name: swap1
provisioning:
    diskSelector:
        match: disk.transport == "nvme"
    minSize: 3GiB
    maxSize: 4GiB
encryption:
    provider: luks2
    keys:
        - slot: 0
          nodeID: {}
`)

// Validate implements document.Validator.
func (c *SwapVolumeConfig) Validate(r *document.Report) {
	name(r, c.DocName)
	c.Provisioning.partition(r)
	c.Encryption.validate(r)
}

// ExistingVolumeConfig mounts a volume that is formatted already at /var/mnt/NAME.
type ExistingVolumeConfig struct {
	document.Named `yaml:",inline"`
	// How the volume is found.
	Discovery VolumeDiscovery `yaml:"discovery" required:"true"`
	// How the volume is mounted.
	Mount ExistingMount `yaml:"mount,omitempty"`
	// Regular trimming of this volume.
	Trim *Maintenance `yaml:"trim,omitempty"`
	// Regular checking of this volume.
	Scrub *Maintenance `yaml:"scrub,omitempty"`
}

// VolumeDiscovery finds a volume.
type VolumeDiscovery struct {
	// What selects the volume.
	VolumeSelector VolumeSelector `yaml:"volumeSelector" required:"true"`
}

// ExistingMount is how an existing volume is mounted.
type ExistingMount struct {
	// Whether nothing can be written.
	ReadOnly *bool `yaml:"readOnly,omitempty"`

	MountOptions `yaml:",inline"`
}

var existingVolume = document.Of[ExistingVolumeConfig]("ExistingVolumeConfig", `apiVersion: v1alpha1
kind: ExistingVolumeConfig
name: archive
discovery:
    volumeSelector:
        match: volume.partition_label == "archive"
mount:
    readOnly: true
`)

// Validate implements document.Validator.
func (c *ExistingVolumeConfig) Validate(r *document.Report) {
	name(r, c.DocName)
	maintenance(r, c.Trim, c.Scrub)
}

// ExternalVolumeConfig mounts a file system from outside the machine at /var/mnt/NAME.
type ExternalVolumeConfig struct {
	document.Named `yaml:",inline"`
	// The type of the file system.
	FilesystemType ExternalFilesystem `yaml:"filesystemType" required:"true"`
	// How it is mounted.
	Mount ExternalMount `yaml:"mount,omitempty"`
}

// ExternalFilesystem is a type of file systems from outside.
type ExternalFilesystem string

// FilesystemVirtioFS is a folder of the host of a virtual machine.
const FilesystemVirtioFS ExternalFilesystem = "virtiofs"

// Values implements document.Enum.
func (ExternalFilesystem) Values() []string { return document.EnumOf(FilesystemVirtioFS) }

// ExternalMount is how a file system from outside is mounted.
type ExternalMount struct {
	ExistingMount `yaml:",inline"`
	// Settings of virtiofs.
	VirtioFS *VirtioFS `yaml:"virtiofs,omitempty"`
}

// VirtioFS has settings of virtiofs.
type VirtioFS struct {
	// The tag of the file system, which the host chose.
	Tag string `yaml:"tag" required:"true"`
}

var externalVolume = document.Of[ExternalVolumeConfig]("ExternalVolumeConfig", `apiVersion: v1alpha1
kind: ExternalVolumeConfig
name: shared
filesystemType: virtiofs
mount:
    virtiofs:
        tag: shared
`)

// Validate implements document.Validator.
func (c *ExternalVolumeConfig) Validate(r *document.Report) {
	name(r, c.DocName)

	if c.FilesystemType == FilesystemVirtioFS && c.Mount.VirtioFS == nil {
		r.Wrong("mount.virtiofs", "is missing: it has the tag of the file system")
	}
}

// ZswapConfig has the kernel compress memory that is seldom used, before it moves it to a swap volume.
type ZswapConfig struct {
	document.Header `yaml:",inline"`
	// How much of the memory compressed pages take at most, in percent.
	MaxPoolPercent int `yaml:"maxPoolPercent,omitempty" range:"1,100"`
	// Whether compressed pages that are not used move to the swap volume early.
	ShrinkerEnabled *bool `yaml:"shrinkerEnabled,omitempty"`
}

var zswap = document.Of[ZswapConfig]("ZswapConfig", `apiVersion: v1alpha1
kind: ZswapConfig
maxPoolPercent: 25
shrinkerEnabled: true
`)
