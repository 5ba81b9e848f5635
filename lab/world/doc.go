// SPDX-License-Identifier: Apache-2.0

// Package world describes the networks of a lab: their services, the routers between them, sites behind a NAT, and the
// network cards of each machine.
//
// It is pure: Plan checks a description and fills in defaults (addresses, default routers, default routes). Package
// supervisor builds the world from netswitch, gateway and router.
//
// Each network is one switch with a gateway, which runs the network's services. The ports of loopback reach the
// machines through the gateway of their own network, and so cross no NAT. The gateway is the default router of the
// machines, unless their network names a router.
//
// A site is a network whose router has a second leg, with a NAT, on the network Internet, which all sites share.
package world
