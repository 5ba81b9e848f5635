// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var hardwareAddrDefinition = &resource.Definition{
	Type:             "HardwareAddresses.net.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Name", JSONPath: "{.name}"},
		{Name: "Hardware Addr", JSONPath: "{.hardwareAddr}"},
	},
}

// HardwareAddrSpec is the hardware address that identifies the machine.
type HardwareAddrSpec struct {
	Name         string                  `yaml:"name" protobuf:"1"`
	HardwareAddr nethelpers.HardwareAddr `yaml:"hardwareAddr" protobuf:"2"`
}

// Definition implements resource.Spec.
func (HardwareAddrSpec) Definition() *resource.Definition { return hardwareAddrDefinition }
