// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/platform"
)

// linkSpecController creates and changes the kernel's links by LinkSpecs.
func linkSpecController(kernel *netlink.Observer, p platform.Platform) controller.Controller {
	return &specController[network.LinkSpecSpec]{
		declared: specsOf[network.LinkSpecSpec]("network.LinkSpecController"), kind: network.ConditionLink, kernel: kernel, what: netlink.WatchLinks | netlink.WatchAddresses, reads: netlink.WatchLinks, touches: netlink.WatchAll, tries: tries{},
		planner: &linkPlanner{platform: p, changed: map[uint32]changedLink{}}, passes: linkPasses,
	}
}

// linkPasses is enough for a bond of new links with a VLAN, in a VLAN, in a VRF: create the links, the bond and the VRF, add the links and create the
// VLAN, create the next, and find nothing to do.
const linkPasses = 5

// linkPlanner has what it changed of links that it did not create, so that it can undo a setting.
type linkPlanner struct {
	platform platform.Platform
	changed  map[uint32]changedLink
	links    knownLinks
	// up has the names of the links that are up after the steps planned so far.
	up map[string]bool
}

// changedLink is what was set on a link, by its index.
type changedLink struct {
	// mtu was set in place of original; 0 is none.
	mtu, original uint32
	// multicast is whether the link received multicast before it was set; nil if it was not set.
	multicast *bool
	// address is the hardware address before another one was set; nil if none was.
	address []byte
	// bond is what a bond was last set to.
	bond *netlink.Bond
	// wireguard is what a WireGuard link was last set to.
	wireguard *netlink.WireGuard
	// master is the master that was set.
	master uint32
}
