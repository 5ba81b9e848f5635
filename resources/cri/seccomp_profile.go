// SPDX-License-Identifier: Apache-2.0

package cri

import "github.com/seed-59268b81/talos/cosi/resource"

var seccompProfileDefinition = domain.Type("SeccompProfiles")

// SeccompProfileSpec is a profile that pods may name as their localhostProfile. The id is its name.
type SeccompProfileSpec struct {
	Name  string         `yaml:"name"  protobuf:"1"`
	Value map[string]any `yaml:"value" protobuf:"2"`
}

// Definition implements resource.Spec.
func (SeccompProfileSpec) Definition() *resource.Definition { return seccompProfileDefinition }
