// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var lifecycleDefinition = &resource.Definition{
	Type:             "Lifecycles.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Needs", JSONPath: "{.needs}"},
		{Name: "Timeout", JSONPath: "{.timeout}"},
	},
}

// LifecycleSpec is something that has to end before the machine goes down: a service, the pods, the volumes. What needs it
// holds a finalizer on it for as long as it runs, under its own id. When the machine goes down all are torn down; each
// ends when nothing holds it any more, and is destroyed when it has ended.
type LifecycleSpec struct {
	// Needs are the ids of those that must outlive it, sorted.
	Needs []string `yaml:"needs,omitempty" protobuf:"1"`
	// Timeout of its end. After that it is left behind.
	Timeout time.Duration `yaml:"timeout" protobuf:"2"`
}

// Definition implements resource.Spec.
func (LifecycleSpec) Definition() *resource.Definition { return lifecycleDefinition }
