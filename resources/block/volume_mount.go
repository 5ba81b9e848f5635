// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

var volumeMountRequestDefinition = domain.Type("VolumeMountRequests",
	"Volume ID={.volumeID}", "Requester={.requester}", "Read Only={.readOnly}")

// VolumeMountRequestSpec is the request of one requester to keep a volume mounted while the request exists. The id is
// REQUESTER-VOLUME. The VolumeMountStatus of the same id grants it.
type VolumeMountRequestSpec struct {
	VolumeID          string `yaml:"volumeID"          protobuf:"1"`
	Requester         string `yaml:"requester"         protobuf:"2"`
	ReadOnly          bool   `yaml:"readOnly"          protobuf:"3"`
	Detached          bool   `yaml:"detached"          protobuf:"4"`
	DisableAccessTime bool   `yaml:"disableAccessTime" protobuf:"5"`
	Secure            bool   `yaml:"secure"            protobuf:"6"`
	NoExec            bool   `yaml:"noExec"            protobuf:"7"`
}

// Definition implements resource.Spec.
func (VolumeMountRequestSpec) Definition() *resource.Definition { return volumeMountRequestDefinition }

var volumeMountStatusDefinition = domain.Type("VolumeMountStatuses",
	"Volume ID={.volumeID}", "Requester={.requester}", "Target={.target}", "Read Only={.readOnly}")

// VolumeMountStatusSpec grants the VolumeMountRequest of the same id: the volume is mounted at the target. The requester holds a
// finalizer on the status, and removes it after the status is torn down. Then the volume is unmounted.
type VolumeMountStatusSpec struct {
	VolumeID          string `yaml:"volumeID"          protobuf:"1"`
	Requester         string `yaml:"requester"         protobuf:"2"`
	Target            string `yaml:"target"            protobuf:"3"`
	ReadOnly          bool   `yaml:"readOnly"          protobuf:"4"`
	Detached          bool   `yaml:"detached"          protobuf:"5"`
	DisableAccessTime bool   `yaml:"disableAccessTime" protobuf:"6"`
	Secure            bool   `yaml:"secure"            protobuf:"7"`
	NoExec            bool   `yaml:"noExec"            protobuf:"8"`
}

// Definition implements resource.Spec.
func (VolumeMountStatusSpec) Definition() *resource.Definition { return volumeMountStatusDefinition }

var mountStatusDefinition = domain.Alias("mounts").Type("MountStatuses",
	"Source={.source}", "Target={.target}", "Filesystem={.filesystem}", "Volume={.spec.volumeID}")

// MountStatusSpec is a mounted volume; its id is that of the volume.
type MountStatusSpec struct {
	Spec               MountRequestSpec       `yaml:"spec"               protobuf:"1"`
	Target             string                 `yaml:"target"             protobuf:"2"`
	Source             string                 `yaml:"source"             protobuf:"3"`
	Filesystem         FilesystemType         `yaml:"filesystem"         protobuf:"4"`
	ReadOnly           bool                   `yaml:"readOnly"           protobuf:"5"`
	EncryptionProvider EncryptionProviderType `yaml:"encryptionProvider" protobuf:"7"`
	Detached           bool                   `yaml:"detached"           protobuf:"8"`
}

// MountRequestSpec merges all requests of one volume.
type MountRequestSpec struct {
	VolumeID     string   `yaml:"volumeID"     protobuf:"1"`
	Requesters   []string `yaml:"requesters"   protobuf:"3"`
	RequesterIDs []string `yaml:"requesterIDs" protobuf:"4"`
	ReadOnly     bool     `yaml:"readOnly"     protobuf:"5"`
}

// Definition implements resource.Spec.
func (MountStatusSpec) Definition() *resource.Definition { return mountStatusDefinition }
