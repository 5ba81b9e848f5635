// SPDX-License-Identifier: Apache-2.0

// Package control is the API of a running lab: JSON over HTTP on a Unix socket in the lab's directory, which its file
// mode protects.
//
//	GET    /status                  the status of the lab
//	POST   /nodes/NAME/power        {"action": "on" | "off" | "cut" | "reset" | "pause" | "resume" | "wipe"}
//	PUT    /nodes/NAME/cards/N      {"unplugged": true | false}
//	PUT    /nodes/NAME/disk         a machine.Disk: how the machine's disks behave until it starts again
//	PUT    /links/NAME              a Link: faults of the links of the name (world.Find)
//	PUT    /paths                   a PathFault
//	PUT    /networks/NAME/services  world.Services: the behaviour of the network's services
//	PUT    /routers/NAME/legs/NETWORK  world.Setting: NAT and filters of a router's leg
//	GET    /capture?port=NAME       the frames of ports, or all, as pcapng, until the client ends
//	DELETE /faults                  removes all faults
//	POST   /stop                    cuts all power and ends the supervisor
//
// A failed request is answered with a status from 400 up and {"error": "…"}.
package control

import (
	"context"
	"io"

	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/world"
)

// Action is what is done to a machine from outside: a press of its power button, and more.
type Action string

// The actions.
const (
	// On switches on.
	On Action = "on"
	// Off asks the guest to power off and waits for it.
	Off Action = "off"
	// Cut cuts the power.
	Cut Action = "cut"
	// Reset presses the reset button.
	Reset Action = "reset"
	// Pause stops the machine's processors, and Resume lets them run on.
	Pause  Action = "pause"
	Resume Action = "resume"
	// Wipe replaces the disks of a machine that is off with new ones.
	Wipe Action = "wipe"
)

// Actions returns all actions.
func Actions() []Action { return []Action{On, Off, Cut, Reset, Pause, Resume, Wipe} }

// Status is the status of a lab.
type Status struct {
	Name string `json:"name"`
	// Accel is "kvm" or "tcg", and AccelWhy the reason; empty without virtual machines.
	Accel    string `json:"accel,omitempty"`
	AccelWhy string `json:"accelWhy,omitempty"`
	// Containers describes how containers run; empty without them.
	Containers string          `json:"containers,omitempty"`
	Nodes      []NodeStatus    `json:"nodes"`
	Networks   []NetworkStatus `json:"networks"`
	Routers    []RouterStatus  `json:"routers,omitempty"`
	Paths      []PathFault     `json:"paths,omitempty"`
}

// NodeStatus is the status of a node.
type NodeStatus struct {
	Name    string         `json:"name"`
	Machine machine.Status `json:"machine"`
	Cards   []CardStatus   `json:"cards"`
}

// LinkStatus is the status of a port's link.
type LinkStatus struct {
	world.Port
	Link    netswitch.Link  `json:"link,omitzero"`
	Traffic netswitch.Stats `json:"traffic"`
}

// CardStatus is the status of a node's card.
type CardStatus struct {
	LinkStatus
	Unplugged bool `json:"unplugged,omitempty"`
}

// NetworkStatus is the status of a network.
type NetworkStatus struct {
	Name     string         `json:"name"`
	Services world.Services `json:"services,omitzero"`
	Gateway  LinkStatus     `json:"gateway"`
}

// RouterStatus is the status of a router.
type RouterStatus struct {
	Name string      `json:"name"`
	Legs []LegStatus `json:"legs"`
}

// LegStatus is the status of a router's leg.
type LegStatus struct {
	LinkStatus
	world.Setting
}

// PathFault is the fault of a one-way path: on one network or, in a request without a network, on all networks with
// both ends.
type PathFault struct {
	Network string `json:"network,omitempty"`
	netswitch.Path
	netswitch.Impairment
}

// Links returns the links of all ports.
func (s *Status) Links() []LinkStatus {
	var all []LinkStatus

	for _, n := range s.Nodes {
		for _, c := range n.Cards {
			all = append(all, c.LinkStatus)
		}
	}

	for _, r := range s.Routers {
		for _, leg := range r.Legs {
			all = append(all, leg.LinkStatus)
		}
	}

	for _, n := range s.Networks {
		all = append(all, n.Gateway)
	}

	return all
}

// Lab is a running lab.
type Lab interface {
	Status() Status
	Power(ctx context.Context, node string, action Action) error
	SetCard(ctx context.Context, node string, card int, unplugged bool) error
	SetDisk(ctx context.Context, node string, disk machine.Disk) error
	SetLink(name string, link netswitch.Link) error
	SetPath(fault PathFault) error
	SetServices(network string, services world.Services) error
	SetLeg(router, network string, setting world.Setting) error
	// Capture returns a function that writes the frames of the ports of names or, without names, all frames to w until
	// ctx is done.
	Capture(names []string) (write func(ctx context.Context, w io.Writer) error, err error)
	Heal() error
	Stop()
}
