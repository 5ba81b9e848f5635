// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var configStatusDefinition = &resource.Definition{
	Type:             "ConfigStatuses.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	PrintColumns: []resource.PrintColumn{
		{Name: "Ready", JSONPath: "{.ready}"},
		{Name: "Config Version", JSONPath: "{.version}"},
	},
}

// ConfigStatusSpec tells that the static pods' configuration files are on disk.
type ConfigStatusSpec struct {
	Ready   bool   `yaml:"ready" protobuf:"1"`
	Version string `yaml:"version" protobuf:"2"`
}

// Definition implements resource.Spec.
func (ConfigStatusSpec) Definition() *resource.Definition { return configStatusDefinition }
