// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

var discoveredVolumeDefinition = domain.Type("DiscoveredVolumes",
	"Type={.type}", "Size={.pretty_size}", "Discovered={.name}", "Label={.label}", "PartitionLabel={.partition_label}")

// DiscoveredVolumeSpec is what was found on a disk or a partition; its id is the kernel's name of the device. Sizes and the offset are
// in bytes. ProbedSize is the size according to the file system or other structure that was found.
type DiscoveredVolumeSpec struct {
	Size                uint64 `yaml:"size"                            protobuf:"1"`
	SectorSize          uint64 `yaml:"sector_size,omitempty"           protobuf:"2"`
	IOSize              uint64 `yaml:"io_size,omitempty"               protobuf:"3"`
	Name                string `yaml:"name"                            protobuf:"4"`
	UUID                string `yaml:"uuid,omitempty"                  protobuf:"5"`
	Label               string `yaml:"label,omitempty"                 protobuf:"6"`
	BlockSize           uint32 `yaml:"block_size,omitempty"            protobuf:"7"`
	FilesystemBlockSize uint32 `yaml:"filesystem_block_size,omitempty" protobuf:"8"`
	ProbedSize          uint64 `yaml:"probed_size,omitempty"           protobuf:"9"`
	PartitionUUID       string `yaml:"partition_uuid,omitempty"        protobuf:"10"`
	PartitionType       string `yaml:"partition_type,omitempty"        protobuf:"11"`
	PartitionLabel      string `yaml:"partition_label,omitempty"       protobuf:"12"`
	PartitionIndex      uint   `yaml:"partition_index,omitempty"       protobuf:"13"`
	Type                string `yaml:"type"                            protobuf:"14"`
	DevicePath          string `yaml:"device_path"                     protobuf:"15"`
	Parent              string `yaml:"parent,omitempty"                protobuf:"16"`
	DevPath             string `yaml:"dev_path"                        protobuf:"17"`
	ParentDevPath       string `yaml:"parent_dev_path,omitempty"       protobuf:"18"`
	PrettySize          string `yaml:"pretty_size"                     protobuf:"19"`
	Offset              uint64 `yaml:"offset,omitempty"                protobuf:"20"`
}

// Definition implements resource.Spec.
func (DiscoveredVolumeSpec) Definition() *resource.Definition { return discoveredVolumeDefinition }
