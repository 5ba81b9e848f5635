// SPDX-License-Identifier: Apache-2.0

package block

import (
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var volumeConfigDefinition = domain.Sensitive().Type("VolumeConfigs")

// VolumeConfigSpec is a wanted volume: how to find it, how to create it if it is missing, and where to mount it.
type VolumeConfigSpec struct {
	ParentID     string           `yaml:"parentId,omitempty" protobuf:"1"`
	Type         VolumeType       `yaml:"type"               protobuf:"2"`
	Provisioning ProvisioningSpec `yaml:"provisioning"       protobuf:"3"`
	// Locator has no wire form, because the field on the wire is a checked CEL expression.
	Locator LocatorSpec `yaml:"locator"`
	Mount   MountSpec   `yaml:"mount"              protobuf:"5"`
}

// ProvisioningSpec describes how to create a volume. Volumes of a lower wave are created first. A volume without a partition label is
// never created, only found.
type ProvisioningSpec struct {
	PartitionSpec  PartitionSpec  `yaml:"partitionSpec"  protobuf:"2"`
	Wave           int            `yaml:"wave"           protobuf:"3"`
	FilesystemSpec FilesystemSpec `yaml:"filesystemSpec" protobuf:"4"`
}

// PartitionSpec is a partition to create. Sizes are in bytes; a maximum of 0 means all free space.
type PartitionSpec struct {
	MinSize  uint64 `yaml:"minSize"  protobuf:"1"`
	MaxSize  uint64 `yaml:"maxSize"  protobuf:"2"`
	Grow     bool   `yaml:"grow"     protobuf:"3"`
	Label    string `yaml:"label"    protobuf:"4"`
	TypeUUID string `yaml:"typeUUID" protobuf:"5"`
}

// FilesystemSpec is a file system to create.
type FilesystemSpec struct {
	Type  FilesystemType `yaml:"type"  protobuf:"1"`
	Label string         `yaml:"label" protobuf:"2"`
}

// LocatorSpec finds a volume on the system disk.
type LocatorSpec struct {
	PartitionLabel string `yaml:"partitionLabel"`
	// Size is the exact size in bytes, 0 for any.
	Size uint64 `yaml:"size,omitempty"`
}

// MountSpec describes where and how to mount a volume.
type MountSpec struct {
	TargetPath   string          `yaml:"targetPath"           protobuf:"1"`
	SELinuxLabel string          `yaml:"selinuxLabel"         protobuf:"2"`
	ParentID     string          `yaml:"parentId,omitempty"   protobuf:"4"`
	FileMode     uint32          `yaml:"fileMode,omitempty"   protobuf:"5"`
	UID          int             `yaml:"uid,omitempty"        protobuf:"6"`
	GID          int             `yaml:"gid,omitempty"        protobuf:"7"`
	BindTarget   string          `yaml:"bindTarget,omitempty" protobuf:"9"`
	Parameters   []ParameterSpec `yaml:"parameters,omitempty" protobuf:"10"`
	Secure       bool            `yaml:"secure"               protobuf:"11"`
	NoExec       bool            `yaml:"noExec"               protobuf:"12"`
}

// ParameterSpec is an option of a file system or a mount: ro, noatime.
type ParameterSpec struct {
	Type   FSParameterType `yaml:"type"             protobuf:"1"`
	Name   string          `yaml:"name"             protobuf:"2"`
	String string          `yaml:"string,omitempty" protobuf:"3"`
	Binary []byte          `yaml:"binary,omitempty" protobuf:"5"`
}

// ReadOnly reports whether the volume is always mounted read-only.
func (m MountSpec) ReadOnly() bool {
	return slices.ContainsFunc(m.Parameters, func(p ParameterSpec) bool { return p.Name == "ro" })
}

// Definition implements resource.Spec.
func (VolumeConfigSpec) Definition() *resource.Definition { return volumeConfigDefinition }
