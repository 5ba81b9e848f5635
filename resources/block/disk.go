// SPDX-License-Identifier: Apache-2.0

package block

import (
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// The types of block devices.
const (
	DeviceTypeDisk      = "disk"
	DeviceTypePartition = "partition"
)

var deviceDefinition = domain.Alias("devices", "device").Type("BlockDevices",
	"Type={.type}", "PartitionName={.partitionName}", "Generation={.generation}", "Parent={.parent}")

// DeviceSpec is a block device of the kernel; its id is the kernel's name. The generation counts the events of the device: at a new one
// a controller probes the device again.
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

var diskDefinition = domain.Type("Disks",
	"Size={.pretty_size}", "Read Only={.readonly}", "Transport={.transport}", "Rotational={.rotational}", "WWID={.wwid}",
	"Model={.model}", "Serial={.serial}")

// DiskSpec is a whole disk with what identifies it; its id is the kernel's name.
type DiskSpec struct {
	Size            uint64   `yaml:"size"                       protobuf:"1"`
	IOSize          uint     `yaml:"io_size"                    protobuf:"2"`
	SectorSize      uint     `yaml:"sector_size"                protobuf:"3"`
	Readonly        bool     `yaml:"readonly"                   protobuf:"4"`
	Model           string   `yaml:"model,omitempty"            protobuf:"5"`
	Serial          string   `yaml:"serial,omitempty"           protobuf:"6"`
	Modalias        string   `yaml:"modalias,omitempty"         protobuf:"7"`
	WWID            string   `yaml:"wwid,omitempty"             protobuf:"8"`
	BusPath         string   `yaml:"bus_path,omitempty"         protobuf:"9"`
	SubSystem       string   `yaml:"sub_system,omitempty"       protobuf:"10"`
	Transport       string   `yaml:"transport,omitempty"        protobuf:"11"`
	Rotational      bool     `yaml:"rotational,omitempty"       protobuf:"12"`
	CDROM           bool     `yaml:"cdrom,omitempty"            protobuf:"13"`
	DevPath         string   `yaml:"dev_path"                   protobuf:"14"`
	PrettySize      string   `yaml:"pretty_size"                protobuf:"15"`
	SecondaryDisks  []string `yaml:"secondary_disks,omitempty"  protobuf:"16"`
	UUID            string   `yaml:"uuid,omitempty"             protobuf:"17"`
	Symlinks        []string `yaml:"symlinks,omitempty"         protobuf:"18"`
	FirmwareVersion string   `yaml:"firmware_version,omitempty" protobuf:"19"`
}

// Definition implements resource.Spec.
func (DiskSpec) Definition() *resource.Definition { return diskDefinition }

// SystemDiskID is the id of the only SystemDisk.
const SystemDiskID = "system-disk"

var systemDiskDefinition = domain.Type("SystemDisks", "Disk={.diskID}")

// SystemDiskSpec is the disk that has META.
type SystemDiskSpec struct {
	DiskID  string `yaml:"diskID"  protobuf:"1"`
	DevPath string `yaml:"devPath" protobuf:"2"`
}

// Definition implements resource.Spec.
func (SystemDiskSpec) Definition() *resource.Definition { return systemDiskDefinition }

// PrettySize formats a size for tables: in decimal units, with one decimal below ten.
func PrettySize(bytes uint64) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}

	v := float64(bytes)
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	n := 0

	for ; v >= 1000 && n < len(units)-1; n++ {
		v /= 1000
	}

	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, units[n])
	}

	return fmt.Sprintf("%.0f %s", v, units[n])
}
