// SPDX-License-Identifier: Apache-2.0

package k8s

// AdmissionPlugin is the configuration of one admission plugin.
type AdmissionPlugin struct {
	Name          string         `yaml:"name"          protobuf:"1"`
	Configuration map[string]any `yaml:"configuration" protobuf:"2"`
}
