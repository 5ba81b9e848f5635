// SPDX-License-Identifier: Apache-2.0

package block

import "fmt"

// VolumeType is what a volume is made of.
type VolumeType uint8

// The volume types.
const (
	VolumeTypePartition VolumeType = iota
	VolumeTypeDisk
	VolumeTypeTmpfs
	VolumeTypeDirectory
	VolumeTypeSymlink
	VolumeTypeOverlay
	VolumeTypeExternal
)

// VolumePhase is how far a volume has come.
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

// The file systems.
const (
	FilesystemTypeNone FilesystemType = iota
	FilesystemTypeXFS
	FilesystemTypeVFAT
	FilesystemTypeEXT4
	FilesystemTypeISO9660
	FilesystemTypeSwap
	FilesystemTypeVirtiofs
	FilesystemTypeBtrfs
)

// EncryptionProviderType names how a volume is encrypted.
type EncryptionProviderType uint8

// The encryption providers.
const (
	EncryptionProviderNone EncryptionProviderType = iota
	EncryptionProviderLUKS2
)

// FSParameterType is the form of a mount parameter.
type FSParameterType uint8

// The forms of mount parameters.
const (
	FSParameterTypeString FSParameterType = iota
	FSParameterTypeBoolean
	FSParameterTypeBinary
)

var (
	volumeTypes         = words{"partition", "disk", "tmpfs", "directory", "symlink", "overlay", "external"}
	volumePhases        = words{"waiting", "failed", "missing", "located", "provisioned", "prepared", "ready", "closed"}
	filesystemTypes     = words{"none", "xfs", "vfat", "ext4", "iso9660", "swap", "virtiofs", "btrfs"}
	encryptionProviders = words{"none", "luks2"}
	fsParameterTypes    = words{"string", "boolean", "binary"}
)

// String is the name users see.
func (t VolumeType) String() string { return volumeTypes.name(uint8(t)) }

// MarshalText implements encoding.TextMarshaler.
func (t VolumeType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *VolumeType) UnmarshalText(text []byte) error { return volumeTypes.parse(text, (*uint8)(t)) }

// String is the name users see.
func (p VolumePhase) String() string { return volumePhases.name(uint8(p)) }

// MarshalText implements encoding.TextMarshaler.
func (p VolumePhase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *VolumePhase) UnmarshalText(text []byte) error { return volumePhases.parse(text, (*uint8)(p)) }

// String is the kernel's name of the file system, or none.
func (t FilesystemType) String() string { return filesystemTypes.name(uint8(t)) }

// MarshalText implements encoding.TextMarshaler.
func (t FilesystemType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *FilesystemType) UnmarshalText(text []byte) error {
	return filesystemTypes.parse(text, (*uint8)(t))
}

// String is the name users see.
func (t EncryptionProviderType) String() string { return encryptionProviders.name(uint8(t)) }

// MarshalText implements encoding.TextMarshaler.
func (t EncryptionProviderType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *EncryptionProviderType) UnmarshalText(text []byte) error {
	return encryptionProviders.parse(text, (*uint8)(t))
}

// String is the name users see.
func (t FSParameterType) String() string { return fsParameterTypes.name(uint8(t)) }

// MarshalText implements encoding.TextMarshaler.
func (t FSParameterType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *FSParameterType) UnmarshalText(text []byte) error {
	return fsParameterTypes.parse(text, (*uint8)(t))
}

// words are the names of the numbers from 0.
type words []string

func (w words) name(n uint8) string {
	if int(n) < len(w) {
		return w[n]
	}

	return fmt.Sprint(n)
}

func (w words) parse(text []byte, n *uint8) error {
	for i, word := range w {
		if word == string(text) {
			*n = uint8(i)

			return nil
		}
	}

	return fmt.Errorf("unknown word %q: want one of %v", text, []string(w))
}
