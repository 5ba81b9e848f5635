// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

// SystemDiskID is the id of the only one.
const SystemDiskID = "system-disk"

var systemDiskDefinition = &resource.Definition{
	Type:             "SystemDisks.block.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns:     []resource.PrintColumn{{Name: "Disk", JSONPath: "{.diskID}"}},
}

// SystemDiskSpec names the disk that carries META.
type SystemDiskSpec struct {
	DiskID  string `yaml:"diskID"  protobuf:"1"`
	DevPath string `yaml:"devPath" protobuf:"2"`
}

// Definition implements resource.Spec.
func (SystemDiskSpec) Definition() *resource.Definition { return systemDiskDefinition }
