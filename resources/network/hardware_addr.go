// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var hardwareAddrDefinition = domain.Type("HardwareAddresses", "Name={.name}", "Hardware Addr={.hardwareAddr}")

// HardwareAddrSpec is the hardware address that identifies the machine.
type HardwareAddrSpec struct {
	Name         string                  `yaml:"name" protobuf:"1"`
	HardwareAddr nethelpers.HardwareAddr `yaml:"hardwareAddr" protobuf:"2"`
}

// Definition implements resource.Spec.
func (HardwareAddrSpec) Definition() *resource.Definition { return hardwareAddrDefinition }
