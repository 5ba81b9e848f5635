// SPDX-License-Identifier: Apache-2.0

package k8s

// Resources are the resource requests and limits of a container.
type Resources struct {
	Requests map[string]string `yaml:"requests" protobuf:"1"`
	Limits   map[string]string `yaml:"limits"   protobuf:"2"`
}
