// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/resources/enum"

// VolumeType is the kind of a volume.
type VolumeType uint8

// The volume types that the system has.
const (
	VolumeTypePartition VolumeType = 0
	VolumeTypeDirectory VolumeType = 3
)

// VolumePhase is the progress of a volume.
type VolumePhase uint8

// The volume phases.
const (
	VolumePhaseWaiting VolumePhase = iota
	VolumePhaseFailed
	VolumePhaseMissing
	VolumePhaseLocated
	VolumePhaseProvisioned
	VolumePhasePrepared
	VolumePhaseReady
	VolumePhaseClosed
)

// FilesystemType names a file system.
type FilesystemType uint8

// The file systems that the system has.
const (
	FilesystemTypeNone FilesystemType = 0
	FilesystemTypeXFS  FilesystemType = 1
	FilesystemTypeEXT4 FilesystemType = 3
)

// EncryptionProviderType names how a volume is encrypted.
type EncryptionProviderType uint8

// FSParameterType is the form of a mount parameter.
type FSParameterType uint8

// FSParameterTypeBoolean is an option without a value.
const FSParameterTypeBoolean FSParameterType = 1

var (
	volumeTypes         = enum.Of[VolumeType]("partition", "disk", "tmpfs", "directory", "symlink", "overlay", "external")
	volumePhases        = enum.Of[VolumePhase]("waiting", "failed", "missing", "located", "provisioned", "prepared", "ready", "closed")
	filesystemTypes     = enum.Of[FilesystemType]("none", "xfs", "vfat", "ext4", "iso9660", "swap", "virtiofs", "btrfs")
	encryptionProviders = enum.Of[EncryptionProviderType]("none", "luks2")
	fsParameterTypes    = enum.Of[FSParameterType]("string", "boolean", "binary")
)

func (t VolumeType) String() string               { return volumeTypes.Text(t) }
func (t VolumeType) MarshalText() ([]byte, error) { return volumeTypes.Marshal(t) }
func (t *VolumeType) UnmarshalText(text []byte) error {
	return volumeTypes.Parse("volume type", text, t)
}

func (p VolumePhase) String() string               { return volumePhases.Text(p) }
func (p VolumePhase) MarshalText() ([]byte, error) { return volumePhases.Marshal(p) }
func (p *VolumePhase) UnmarshalText(text []byte) error {
	return volumePhases.Parse("volume phase", text, p)
}

func (t FilesystemType) String() string               { return filesystemTypes.Text(t) }
func (t FilesystemType) MarshalText() ([]byte, error) { return filesystemTypes.Marshal(t) }
func (t *FilesystemType) UnmarshalText(text []byte) error {
	return filesystemTypes.Parse("file system", text, t)
}

func (t EncryptionProviderType) String() string               { return encryptionProviders.Text(t) }
func (t EncryptionProviderType) MarshalText() ([]byte, error) { return encryptionProviders.Marshal(t) }
func (t *EncryptionProviderType) UnmarshalText(text []byte) error {
	return encryptionProviders.Parse("encryption provider", text, t)
}

func (t FSParameterType) String() string               { return fsParameterTypes.Text(t) }
func (t FSParameterType) MarshalText() ([]byte, error) { return fsParameterTypes.Marshal(t) }
func (t *FSParameterType) UnmarshalText(text []byte) error {
	return fsParameterTypes.Parse("form of a mount parameter", text, t)
}
