// SPDX-License-Identifier: Apache-2.0

package k8s

// Mount is a mount of a container, as the OCI runtime specification has it.
type Mount struct {
	Destination string      `yaml:"destination"           protobuf:"1"`
	Type        string      `yaml:"type,omitempty"        protobuf:"2"`
	Source      string      `yaml:"source,omitempty"      protobuf:"3"`
	Options     []string    `yaml:"options,omitempty"     protobuf:"4"`
	UIDMappings []IDMapping `yaml:"uidMappings,omitempty" protobuf:"5"`
	GIDMappings []IDMapping `yaml:"gidMappings,omitempty" protobuf:"6"`
}

// IDMapping maps a range of user or group ids of a container to the host's.
type IDMapping struct {
	ContainerID uint32 `yaml:"containerID" protobuf:"1"`
	HostID      uint32 `yaml:"hostID"      protobuf:"2"`
	Size        uint32 `yaml:"size"        protobuf:"3"`
}
