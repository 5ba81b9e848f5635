// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/platform"
)

// linkSpecController makes the kernel's links what LinkSpecs say.
func linkSpecController(kernel *netlink.Observer, p platform.Platform) controller.Controller {
	return &specController[network.LinkSpecSpec]{
		name: "network.LinkSpecController", kind: network.ConditionLink, kernel: kernel, touches: netlink.WatchAll, tries: tries{},
		planner: &linkPlanner{platform: p, changed: map[uint32]changedLink{}},
	}
}

// linkPlanner remembers what it changed of links that it did not make, so that a setting that is taken back goes.
type linkPlanner struct {
	platform platform.Platform
	changed  map[uint32]changedLink
}

// changedLink is what was set on a link, by its index.
type changedLink struct {
	// mtu was set in place of original; 0 is none.
	mtu, original uint32
	// bond is what a bond was last set to.
	bond *netlink.Bond
	// master was given to the link.
	master uint32
}
