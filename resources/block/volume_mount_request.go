// SPDX-License-Identifier: Apache-2.0

package block

import "github.com/seed-59268b81/talos/cosi/resource"

var volumeMountRequestDefinition = &resource.Definition{
	Type:             "VolumeMountRequests.block.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Volume ID", JSONPath: "{.volumeID}"},
		{Name: "Requester", JSONPath: "{.requester}"},
		{Name: "Read Only", JSONPath: "{.readOnly}"},
	},
}

// VolumeMountRequestSpec is the wish of one requester that a volume be mounted, and stay so while the wish stands.
// The id is REQUESTER-VOLUME. It is granted by the VolumeMountStatus of the same id.
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
