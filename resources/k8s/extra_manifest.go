// SPDX-License-Identifier: Apache-2.0

package k8s

// ExtraManifest is a manifest that the machine configuration names or carries.
type ExtraManifest struct {
	Name           string            `yaml:"name"                     protobuf:"1"`
	URL            string            `yaml:"url,omitempty"            protobuf:"2"`
	Priority       string            `yaml:"priority"                 protobuf:"3"`
	ExtraHeaders   map[string]string `yaml:"extraHeaders,omitempty"   protobuf:"4"`
	InlineManifest string            `yaml:"inlineManifest,omitempty" protobuf:"5"`
}
