// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

// MachineStatusID is the id of the only MachineStatus.
const MachineStatusID = "machine"

var machineStatusDefinition = domain.Type("MachineStatuses", "Stage={.stage}", "Ready={.status.ready}")

// MachineStage is what the machine is doing; the numbers are those of the wire.
type MachineStage int32

// The stages.
const (
	StageUnknown MachineStage = iota
	StageBooting
	StageInstalling
	StageMaintenance
	StageRunning
	StageRebooting
	StageShuttingDown
	StageResetting
	StageUpgrading
)

var stageNames = enum.Of[MachineStage](
	"unknown", "booting", "installing", "maintenance", "running", "rebooting", "shuttingDown", "resetting", "upgrading",
)

func (s MachineStage) String() string               { return stageNames.Text(s) }
func (s MachineStage) MarshalText() ([]byte, error) { return stageNames.Marshal(s) }
func (s *MachineStage) UnmarshalText(text []byte) error {
	return stageNames.Parse("machine stage", text, s)
}

// MachineStatusSpec is the stage of the machine and, once it runs, what it still waits for.
type MachineStatusSpec struct {
	Stage  MachineStage        `yaml:"stage"  protobuf:"1"`
	Status MachineStatusStatus `yaml:"status" protobuf:"2"`
}

// MachineStatusStatus is the readiness.
type MachineStatusStatus struct {
	Ready           bool             `yaml:"ready"           protobuf:"1"`
	UnmetConditions []UnmetCondition `yaml:"unmetConditions" protobuf:"2"`
}

// UnmetCondition names one check that fails and why.
type UnmetCondition struct {
	Name   string `yaml:"name"   protobuf:"1"`
	Reason string `yaml:"reason" protobuf:"2"`
}

// Definition implements resource.Spec.
func (MachineStatusSpec) Definition() *resource.Definition { return machineStatusDefinition }
