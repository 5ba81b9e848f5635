// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// PowerRequestID is the id of the only one: the first request wins.
const PowerRequestID = "power"

var powerRequestDefinition = &resource.Definition{
	Type:             "PowerRequests.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Action", JSONPath: "{.action}"},
		{Name: "Force", JSONPath: "{.force}"},
		{Name: "Reason", JSONPath: "{.reason}"},
	},
}

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
