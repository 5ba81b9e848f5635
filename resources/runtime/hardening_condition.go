// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var hardeningConditionDefinition = domain.Type("HardeningConditions", "Want={.want}", "Current={.current}", "Cause={.cause}")

// HardeningConditionSpec is a protection of the kernel that is not in effect. The id is the kernel parameter, or lockdown. A fully
// hardened machine has none.
type HardeningConditionSpec struct {
	Want    string `yaml:"want"    protobuf:"1"`
	Current string `yaml:"current" protobuf:"2"`
	Cause   string `yaml:"cause"   protobuf:"3"`
}

// Definition implements resource.Spec.
func (HardeningConditionSpec) Definition() *resource.Definition { return hardeningConditionDefinition }
