// SPDX-License-Identifier: Apache-2.0

package cri

import "github.com/seed-59268b81/talos/cosi/resource"

var customizationConfigDefinition = domain.Sensitive().Type("CustomizationConfigs")

// CustomizationConfigSpec is what the machine configuration adds to containerd's own configuration, in TOML. All parts are merged.
type CustomizationConfigSpec struct {
	Content string `yaml:"content" protobuf:"1"`
}

// Definition implements resource.Spec.
func (CustomizationConfigSpec) Definition() *resource.Definition {
	return customizationConfigDefinition
}

var baseRuntimeSpecConfigDefinition = domain.Sensitive().Type("BaseRuntimeSpecConfigs")

// BaseRuntimeSpecConfigSpec is what the machine configuration changes in the specification with which all containers of Kubernetes begin. It may
// have variables of the environment, and so secrets.
type BaseRuntimeSpecConfigSpec struct {
	Object map[string]any `yaml:"object" protobuf:"1"`
}

// Definition implements resource.Spec.
func (BaseRuntimeSpecConfigSpec) Definition() *resource.Definition {
	return baseRuntimeSpecConfigDefinition
}
