// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// PowerRequestID is the id of the only PowerRequest: the first request wins.
const PowerRequestID = "power"

var powerRequestDefinition = domain.Type("PowerRequests", "Action={.action}", "Reset={.reset}", "Force={.force}", "Reason={.reason}")

// PowerAction is the action of a PowerRequest.
type PowerAction string

// The actions.
const (
	PowerReboot   PowerAction = "reboot"
	PowerShutdown PowerAction = "shutdown"
)

// PowerRequestSpec is a request to shut down or reboot the machine. It goes down when all Lifecycles have ended, or after a timeout.
type PowerRequestSpec struct {
	Action PowerAction `yaml:"action" protobuf:"1"`
	// Force gives pods no grace period: they are killed.
	Force bool `yaml:"force" protobuf:"2"`
	// Reason is recorded, and shown after the next boot.
	Reason string `yaml:"reason" protobuf:"3"`
	// ActorID connects the events with the API call.
	ActorID string `yaml:"actorId" protobuf:"4"`
	// Reset is set when the machine is wiped before it reboots or is switched off. What is wiped is in META.
	Reset bool `yaml:"reset" protobuf:"5"`
	// Forget is set when it loses its identity: discovery services forget it, too.
	Forget bool `yaml:"forget" protobuf:"6"`
}

// Definition implements resource.Spec.
func (PowerRequestSpec) Definition() *resource.Definition { return powerRequestDefinition }

// MachineResetSignalID is the id of the only MachineResetSignal.
const MachineResetSignalID = "machine"

var machineResetSignalDefinition = domain.Type("MachineResetSignals")

// MachineResetSignalSpec is a signal: the machine is about to lose its identity, so nothing announces it any more.
type MachineResetSignalSpec struct{}

// Definition implements resource.Spec.
func (MachineResetSignalSpec) Definition() *resource.Definition { return machineResetSignalDefinition }

var lifecycleDefinition = domain.Type("Lifecycles", "Needs={.needs}", "Timeout={.timeout}")

// LifecycleSpec is a participant that has to end before the machine goes down: a service, the pods, the volumes. A participant that
// needs another holds a finalizer on it while it runs, under its own id. When the machine goes down, all Lifecycles are torn down. A
// participant is stopped when no finalizer is left, and its Lifecycle is destroyed when it has ended.
type LifecycleSpec struct {
	// Needs are the ids of participants that must outlive it, sorted.
	Needs []string `yaml:"needs,omitempty" protobuf:"1"`
	// Timeout of the stop. After that the participant is left behind.
	Timeout time.Duration `yaml:"timeout" protobuf:"2"`
}

// Definition implements resource.Spec.
func (LifecycleSpec) Definition() *resource.Definition { return lifecycleDefinition }
