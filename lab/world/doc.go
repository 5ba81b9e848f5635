// SPDX-License-Identifier: Apache-2.0

// Package world describes what the machines of a lab find around them: networks
// with the services on each, routers between networks, sites behind a NAT, and
// the network cards of each machine.
//
// It is pure: Plan fills in what a description leaves out (addresses, default
// routers, default routes) and tells what is wrong with it. Package supervisor
// makes the world that it describes, out of netswitch, gateway and router.
//
// Each network is one switch. On each there is a gateway, which has the
// network's services, and through which the ports of loopback reach the
// machines: it is on their own network, so that this way never crosses a NAT.
// Machines have the gateway as their default router, unless their network names
// a router.
//
// A site is a network whose router has a second leg, with a NAT, on the network
// Internet, which all sites share.
package world
