// SPDX-License-Identifier: Apache-2.0

package k8s

// SingleManifest is one Kubernetes object.
type SingleManifest struct {
	Object map[string]any `yaml:"object" protobuf:"1"`
}

// MarshalYAML prints the object itself.
func (m SingleManifest) MarshalYAML() (any, error) { return m.Object, nil }
