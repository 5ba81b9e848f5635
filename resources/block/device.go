// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

// The types of block devices.
const (
	DeviceTypeDisk      = "disk"
	DeviceTypePartition = "partition"
)

var deviceDefinition = &resource.Definition{
	Type:             "BlockDevices.block.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"devices", "device"},
	PrintColumns: []resource.PrintColumn{
		{Name: "Type", JSONPath: "{.type}"},
		{Name: "PartitionName", JSONPath: "{.partitionName}"},
		{Name: "Generation", JSONPath: "{.generation}"},
		{Name: "Parent", JSONPath: "{.parent}"},
	},
}

// DeviceSpec is a block device of the kernel; its id is the kernel's name of it. The generation counts the
// kernel's notices of a change, so that whoever looked into the device knows when to look again.
type DeviceSpec struct {
	Type            string   `yaml:"type"                      protobuf:"1"`
	Major           int      `yaml:"major"                     protobuf:"2"`
	Minor           int      `yaml:"minor"                     protobuf:"3"`
	PartitionName   string   `yaml:"partitionName,omitempty"   protobuf:"4"`
	PartitionNumber int      `yaml:"partitionNumber,omitempty" protobuf:"5"`
	Generation      int      `yaml:"generation"                protobuf:"6"`
	DevicePath      string   `yaml:"devicePath"                protobuf:"7"`
	Parent          string   `yaml:"parent,omitempty"          protobuf:"8"`
	Secondaries     []string `yaml:"secondaries,omitempty"     protobuf:"9"`
}

// Definition implements resource.Spec.
func (DeviceSpec) Definition() *resource.Definition { return deviceDefinition }
