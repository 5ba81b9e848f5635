// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// ControllerStatusSpec describes a controller that fails and is tried again; the id is the controller's name. It exists from
// the first failure until the next success, so a list of these resources is a list of problems.
type ControllerStatusSpec struct {
	Error string `yaml:"error" protobuf:"1"`
	// Resource that a queue controller was reconciling.
	Resource string `yaml:"resource,omitempty" protobuf:"2"`
	// Failures since the last success.
	Failures uint32    `yaml:"failures" protobuf:"3"`
	Since    time.Time `yaml:"since" protobuf:"4"`
	// Unreached is set while the controller fails only since nothing else in the network answers it.
	Unreached bool `yaml:"unreached,omitempty" protobuf:"5"`
}

var controllerStatusDefinition = &resource.Definition{
	Type:             "ControllerStatuses.meta.cosi.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Failures", JSONPath: "{.failures}"},
		{Name: "Since", JSONPath: "{.since}"},
		{Name: "Error", JSONPath: "{.error}"},
	},
}

// ControllerStatusOf points to the status of a controller.
func ControllerStatusOf(controller string) resource.Pointer {
	return resource.PointerOf[ControllerStatusSpec](NamespaceName, controller)
}

// Definition implements resource.Spec.
func (ControllerStatusSpec) Definition() *resource.Definition { return controllerStatusDefinition }
