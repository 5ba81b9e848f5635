// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var hardeningConditionDefinition = domain.Type("HardeningConditions", "Want={.want}", "Current={.current}", "Cause={.cause}")

// HardeningConditionSpec tells of one measure that protects the kernel and does not hold. The id is the kernel parameter,
// or lockdown. A machine that is hardened as it should be has none.
type HardeningConditionSpec struct {
	Want    string `yaml:"want"    protobuf:"1"`
	Current string `yaml:"current" protobuf:"2"`
	Cause   string `yaml:"cause"   protobuf:"3"`
}

// Definition implements resource.Spec.
func (HardeningConditionSpec) Definition() *resource.Definition { return hardeningConditionDefinition }
