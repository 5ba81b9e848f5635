// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

var volumeStatusDefinition = domain.Type("VolumeStatuses", "Type={.type}", "Phase={.phase}", "Location={.location}", "Size={.prettySize}")

// VolumeStatusSpec is the phase and the location of a volume. Users of a ready volume hold a finalizer on it.
type VolumeStatusSpec struct {
	Phase              VolumePhase            `yaml:"phase"                    protobuf:"1"`
	Location           string                 `yaml:"location,omitempty"       protobuf:"2"`
	ErrorMessage       string                 `yaml:"errorMessage,omitempty"   protobuf:"3"`
	UUID               string                 `yaml:"uuid,omitempty"           protobuf:"4"`
	PartitionUUID      string                 `yaml:"partitionUUID,omitempty"  protobuf:"5"`
	PreFailPhase       VolumePhase            `yaml:"preFailPhase"             protobuf:"6"`
	ParentLocation     string                 `yaml:"parentLocation,omitempty" protobuf:"7"`
	PartitionIndex     int                    `yaml:"partitionIndex,omitempty" protobuf:"8"`
	Size               uint64                 `yaml:"size,omitempty"           protobuf:"9"`
	Filesystem         FilesystemType         `yaml:"filesystem"               protobuf:"10"`
	MountLocation      string                 `yaml:"mountLocation,omitempty"  protobuf:"11"`
	EncryptionProvider EncryptionProviderType `yaml:"encryptionProvider"       protobuf:"12"`
	PrettySize         string                 `yaml:"prettySize,omitempty"     protobuf:"13"`
	MountSpec          MountSpec              `yaml:"mountSpec"                protobuf:"15"`
	Type               VolumeType             `yaml:"type"                     protobuf:"16"`
	ParentID           string                 `yaml:"parentID,omitempty"       protobuf:"19"`
}

// Definition implements resource.Spec.
func (VolumeStatusSpec) Definition() *resource.Definition { return volumeStatusDefinition }

// VolumeLifecycleID is the id of the only VolumeLifecycle.
const VolumeLifecycleID = "volumes"

var volumeLifecycleDefinition = domain.Type("VolumeLifecycles")

// VolumeLifecycleSpec is a signal: it exists from the start of the machine, and its teardown unmounts every volume. The volume
// controllers hold a finalizer on it until all volumes are unmounted.
type VolumeLifecycleSpec struct{}

// Definition implements resource.Spec.
func (VolumeLifecycleSpec) Definition() *resource.Definition { return volumeLifecycleDefinition }
