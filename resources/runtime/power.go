// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// PowerRequestID is the id of the only one: the first request wins.
const PowerRequestID = "power"

var powerRequestDefinition = domain.Type("PowerRequests", "Action={.action}", "Force={.force}", "Reason={.reason}")

// PowerAction is what the machine does when it has gone down.
type PowerAction string

// The actions.
const (
	PowerReboot   PowerAction = "reboot"
	PowerShutdown PowerAction = "shutdown"
)

// PowerRequestSpec asks that the machine goes down, which it does when all Lifecycles have ended, or when the time for that is
// over.
type PowerRequestSpec struct {
	Action PowerAction `yaml:"action" protobuf:"1"`
	// Force gives pods no grace period: they are killed.
	Force bool `yaml:"force" protobuf:"2"`
	// Reason that is kept for the next boot to tell.
	Reason string `yaml:"reason" protobuf:"3"`
	// ActorID ties the events to the API call.
	ActorID string `yaml:"actorId" protobuf:"4"`
}

// Definition implements resource.Spec.
func (PowerRequestSpec) Definition() *resource.Definition { return powerRequestDefinition }

var lifecycleDefinition = domain.Type("Lifecycles", "Needs={.needs}", "Timeout={.timeout}")

// LifecycleSpec is something that has to end before the machine goes down: a service, the pods, the volumes. What needs it
// holds a finalizer on it for as long as it runs, under its own id. When the machine goes down all are torn down; each
// ends when nothing holds it any more, and is destroyed when it has ended.
type LifecycleSpec struct {
	// Needs are the ids of those that must outlive it, sorted.
	Needs []string `yaml:"needs,omitempty" protobuf:"1"`
	// Timeout of its end. After that it is left behind.
	Timeout time.Duration `yaml:"timeout" protobuf:"2"`
}

// Definition implements resource.Spec.
func (LifecycleSpec) Definition() *resource.Definition { return lifecycleDefinition }
