// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/config"
)

var memberDefinition = domain.Alias("member", "members").Type("Members",
	"Hostname={.hostname}", "Machine Type={.machineType}", "OS={.operatingSystem}", "Addresses={.addresses}")

// MemberSpec is a machine of the cluster. Its id is its name in Kubernetes.
type MemberSpec struct {
	NodeID          string             `yaml:"nodeId" protobuf:"1"`
	Addresses       []netip.Addr       `yaml:"addresses" protobuf:"2"`
	Hostname        string             `yaml:"hostname" protobuf:"3"`
	MachineType     config.MachineType `yaml:"machineType" protobuf:"4"`
	OperatingSystem string             `yaml:"operatingSystem" protobuf:"5"`
	ControlPlane    *ControlPlane      `yaml:"controlPlane,omitempty" protobuf:"6"`
}

// ControlPlane is what other machines know about a control plane machine.
type ControlPlane struct {
	APIServerPort int `yaml:"port" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MemberSpec) Definition() *resource.Definition { return memberDefinition }
