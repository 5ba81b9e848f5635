// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

var mountStatusDefinition = &resource.Definition{
	Type:             "MountStatuses.block.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"mounts"},
	PrintColumns: []resource.PrintColumn{
		{Name: "Source", JSONPath: "{.source}"},
		{Name: "Target", JSONPath: "{.target}"},
		{Name: "Filesystem", JSONPath: "{.filesystem}"},
		{Name: "Volume", JSONPath: "{.spec.volumeID}"},
	},
}

// MountStatusSpec is a volume that is mounted; its id is that of the volume.
type MountStatusSpec struct {
	Spec               MountRequestSpec       `yaml:"spec"               protobuf:"1"`
	Target             string                 `yaml:"target"             protobuf:"2"`
	Source             string                 `yaml:"source"             protobuf:"3"`
	Filesystem         FilesystemType         `yaml:"filesystem"         protobuf:"4"`
	ReadOnly           bool                   `yaml:"readOnly"           protobuf:"5"`
	EncryptionProvider EncryptionProviderType `yaml:"encryptionProvider" protobuf:"7"`
	Detached           bool                   `yaml:"detached"           protobuf:"8"`
}

// MountRequestSpec is what all requesters of one volume ask for together.
type MountRequestSpec struct {
	VolumeID     string   `yaml:"volumeID"     protobuf:"1"`
	Requesters   []string `yaml:"requesters"   protobuf:"3"`
	RequesterIDs []string `yaml:"requesterIDs" protobuf:"4"`
	ReadOnly     bool     `yaml:"readOnly"     protobuf:"5"`
}

// Definition implements resource.Spec.
func (MountStatusSpec) Definition() *resource.Definition { return mountStatusDefinition }
