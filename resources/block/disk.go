// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

var diskDefinition = &resource.Definition{
	Type:             "Disks.block.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Size", JSONPath: "{.pretty_size}"},
		{Name: "Read Only", JSONPath: "{.readonly}"},
		{Name: "Transport", JSONPath: "{.transport}"},
		{Name: "Rotational", JSONPath: "{.rotational}"},
		{Name: "WWID", JSONPath: "{.wwid}"},
		{Name: "Model", JSONPath: "{.model}"},
		{Name: "Serial", JSONPath: "{.serial}"},
	},
}

// DiskSpec is a whole disk and how to tell it from others; its id is the kernel's name of it.
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
