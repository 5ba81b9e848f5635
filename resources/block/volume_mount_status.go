// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

var volumeMountStatusDefinition = &resource.Definition{
	Type:             "VolumeMountStatuses.block.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Volume ID", JSONPath: "{.volumeID}"},
		{Name: "Requester", JSONPath: "{.requester}"},
		{Name: "Target", JSONPath: "{.target}"},
		{Name: "Read Only", JSONPath: "{.readOnly}"},
	},
}

// VolumeMountStatusSpec grants a VolumeMountRequest of the same id: the volume is mounted at the target. Who uses it
// holds a finalizer on the status and lets go when the status is torn down; only then is the volume unmounted.
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
