// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// Existing clients know the type by this group.
var oomActionDefinition = definition.Domain{Group: "talos.dev", Namespace: NamespaceName}.Sensitive().Type("OOMActions", "Trigger={.triggerContext}", "Score={.score}")

// OOMActionSpec is a pod that was ended because the machine was short of memory. The id is its number since the boot.
type OOMActionSpec struct {
	// TriggerContext is what the memory was like.
	TriggerContext string `yaml:"triggerContext" protobuf:"1"`
	// Score is that of the pod; the pod with the highest one was ended.
	Score float64 `yaml:"score" protobuf:"2"`
	// Processes are the cgroup and the processes that were ended.
	Processes []string `yaml:"processes" protobuf:"3"`
}

// Definition implements resource.Spec.
func (OOMActionSpec) Definition() *resource.Definition { return oomActionDefinition }
