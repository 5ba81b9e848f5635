// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// DevicesStatusID is the id of the only DevicesStatus.
const DevicesStatusID = "devices"

var devicesStatusDefinition = domain.Type("DevicesStatuses", "Ready={.ready}")

// DevicesStatusSpec is whether udevd has handled all devices: their links exist, and the rules were followed.
type DevicesStatusSpec struct {
	Ready bool `yaml:"ready" protobuf:"1"`
}

// Definition implements resource.Spec.
func (DevicesStatusSpec) Definition() *resource.Definition { return devicesStatusDefinition }
