// SPDX-License-Identifier: Apache-2.0

package k8s

// KubePrismEndpoint is one API server behind KubePrism.
type KubePrismEndpoint struct {
	Host string `yaml:"host" protobuf:"1"`
	Port uint32 `yaml:"port" protobuf:"2"`
}
