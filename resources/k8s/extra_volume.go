// SPDX-License-Identifier: Apache-2.0

package k8s

// ExtraVolume is a host path that a control plane component gets to see.
type ExtraVolume struct {
	Name      string `yaml:"name"      protobuf:"1"`
	HostPath  string `yaml:"hostPath"  protobuf:"2"`
	MountPath string `yaml:"mountPath" protobuf:"3"`
	ReadOnly  bool   `yaml:"readonly"  protobuf:"4"`
}
