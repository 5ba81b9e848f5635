// SPDX-License-Identifier: Apache-2.0

// Package control is how a lab is told what to do while it runs: JSON over HTTP
// on a Unix socket in the lab's directory, which its file mode guards.
//
//	GET    /status                  how the lab is
//	POST   /nodes/NAME/power        {"action": "on" | "off" | "cut" | "reset"}
//	PUT    /links/NAME              a Link: faults of a node's (or the gateway's) link
//	PUT    /paths                   a Path and an Impairment
//	DELETE /faults                  heals everything
//	POST   /stop                    cuts all power and ends the supervisor
//
// What fails is answered with a status from 400 up and {"error": "…"}.
package control

import (
	"context"

	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
)

// Action is a press of the power button.
type Action string

// The actions.
const (
	// On switches on.
	On Action = "on"
	// Off asks the guest to power off and waits for it.
	Off Action = "off"
	// Cut takes the power away.
	Cut Action = "cut"
	// Reset presses the reset button.
	Reset Action = "reset"
)

// Status is how a lab is.
type Status struct {
	Name string `json:"name"`
	// Accel is "kvm" or "tcg", and why; empty without virtual machines.
	Accel    string `json:"accel,omitempty"`
	AccelWhy string `json:"accelWhy,omitempty"`
	// Containers is what containers run with; empty without them.
	Containers string          `json:"containers,omitempty"`
	Nodes      []NodeStatus    `json:"nodes"`
	Paths      []PathFault     `json:"paths,omitempty"`
	Gateway    netswitch.Link  `json:"gateway,omitzero"`
	Traffic    netswitch.Stats `json:"traffic"`
}

// NodeStatus is how a node is.
type NodeStatus struct {
	Name    string          `json:"name"`
	Machine machine.Status  `json:"machine"`
	Link    netswitch.Link  `json:"link,omitzero"`
	Traffic netswitch.Stats `json:"traffic"`
}

// PathFault is the fault of a one-way path.
type PathFault struct {
	netswitch.Path
	netswitch.Impairment
}

// Lab is what can be told to a lab.
type Lab interface {
	Status() Status
	Power(ctx context.Context, node string, action Action) error
	SetLink(node string, link netswitch.Link) error
	SetPath(path netswitch.Path, impairment netswitch.Impairment) error
	Heal()
	Stop()
}
