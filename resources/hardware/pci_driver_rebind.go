// SPDX-License-Identifier: Apache-2.0

package hardware

import "github.com/seed-59268b81/talos/cosi/resource"

var pciDriverRebindConfigDefinition = settings.Type("PCIDriverRebindConfigs", "PCI ID={.pciID}", "Target Driver={.targetDriver}")

// PCIDriverRebindConfigSpec is the driver that a PCI device gets. The id is that of the device: its address, or VENDOR:DEVICE for all
// devices of that kind.
type PCIDriverRebindConfigSpec struct {
	PCIID        string `yaml:"pciID"        protobuf:"1"`
	TargetDriver string `yaml:"targetDriver" protobuf:"2"`
}

// Definition implements resource.Spec.
func (PCIDriverRebindConfigSpec) Definition() *resource.Definition {
	return pciDriverRebindConfigDefinition
}

var pciDriverRebindStatusDefinition = settings.Alias("pcidriverrebinds").Type("PCIDriverRebindStatuses",
	"PCI ID={.pciID}", "Target Driver={.targetDriver}")

// PCIDriverRebindStatusSpec exists when all devices of the config with this id have the driver.
type PCIDriverRebindStatusSpec struct {
	PCIID        string `yaml:"pciID"        protobuf:"1"`
	TargetDriver string `yaml:"targetDriver" protobuf:"2"`
}

// Definition implements resource.Spec.
func (PCIDriverRebindStatusSpec) Definition() *resource.Definition {
	return pciDriverRebindStatusDefinition
}
