// SPDX-License-Identifier: Apache-2.0

package k8s

// Authorizer is one link of the API server's chain of authorizers.
type Authorizer struct {
	Type    string         `yaml:"type"              protobuf:"1"`
	Name    string         `yaml:"name"              protobuf:"2"`
	Webhook map[string]any `yaml:"webhook,omitempty" protobuf:"3"`
}
