// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var schedulerConfigDefinition = &resource.Definition{
	Type:             "SchedulerConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// SchedulerConfigSpec is the scheduler's settings; the final copy also has its arguments.
type SchedulerConfigSpec struct {
	Enabled              bool                 `yaml:"enabled" protobuf:"1"`
	Image                string               `yaml:"image" protobuf:"2"`
	ExtraVolumes         []ExtraVolume        `yaml:"extraVolumes" protobuf:"4"`
	EnvironmentVariables map[string]string    `yaml:"environmentVariables" protobuf:"5"`
	Resources            Resources            `yaml:"resources" protobuf:"6"`
	Config               map[string]any       `yaml:"config" protobuf:"7"`
	ExtraArgs            map[string]ArgValues `yaml:"extraArgs" protobuf:"8"`
	Args                 []string             `yaml:"args" protobuf:"9"`
}

// Definition implements resource.Spec.
func (SchedulerConfigSpec) Definition() *resource.Definition { return schedulerConfigDefinition }
