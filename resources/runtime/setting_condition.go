// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var settingConditionDefinition = domain.Type("SettingConditions", "Cause={.cause}")

// SettingConditionSpec is a setting of the configuration that is not in effect now. The id is what the setting is about, such as
// event-sink or pci/0000:04:00.0.
type SettingConditionSpec struct {
	Cause string `yaml:"cause" protobuf:"1"`
}

// Definition implements resource.Spec.
func (SettingConditionSpec) Definition() *resource.Definition { return settingConditionDefinition }
