// SPDX-License-Identifier: Apache-2.0

// Package router forwards IPv4 and IPv6 packets between networks of the lab:
// between sites, or between a site and the world behind a NAT.
//
//	r, err := router.Start(router.Config{
//		Legs: []router.Leg{
//			{Name: "site", MAC: siteMAC, Addresses: []netip.Prefix{site}},
//			{Name: "world", MAC: worldMAC, Addresses: []netip.Prefix{world}, Setting: router.Setting{NAT: &nat.Config{}}},
//		},
//		Routes: []router.Route{{Destination: everywhere, Gateway: upstream}},
//	}, []router.Plug{{Switch: siteSwitch, Port: "router"}, {Switch: worldSwitch, Port: "site-router"}})
//	defer r.Close()
//
// Core is the router without a clock and a network: frames and times in, frames
// out. Router connects one with ports of switches. So a test can run a world of
// many routers in virtual time, and a lab the same ones in real time.
//
// # What is done
//
//   - The longest prefix wins, among the subnets of the legs and static routes.
//   - Neighbors are found with ARP and neighbor discovery; at most 16 packets
//     wait for one. One that does not answer for three seconds is unreachable,
//     which the senders are told. The router answers for its own addresses, echo
//     requests too, and serves nothing else.
//   - ICMP and ICMPv6 errors: no route, no neighbor, TTL or hop limit exceeded,
//     too big. IPv4 packets that may be cut are cut.
//   - A leg can have a NAT (package nat), block UDP, or swallow packets that are
//     too big for it without a word. These three can be changed while the router
//     runs.
//
// # The way of a packet
//
// An IPv4 packet that comes in through a leg with a NAT must be for the NAT's
// external address, and is translated first; nothing else behind the router is
// reached from there. Then it is routed, checked against the MTU of the leg out,
// and, if that leg has a NAT and is another one, translated. A packet from inside
// for the external address is turned around where the NAT hairpins. ICMP errors
// quote the packet as its sender knows it, before any translation. IPv6 is not
// translated and passes legs with a NAT.
//
// # Limits
//
// No reassembly, no redirects, no routing protocols, no multicast forwarding,
// no DHCP relay, no reverse path check, and no rate limit on errors. The router
// believes what ARP and neighbor discovery say, as most do. Its hosts get their
// addresses from a lab/gateway on their network, whose DHCP and router
// advertisements name the router.
//
// The NAT matrix, which pairs of hosts behind NATs reach each other directly, is
// this package's test: go test ./lab/router -run Matrix -v.
//
// gVisor's stack forwards too, and was rejected: its NAT has one behavior, it
// cannot be stepped in virtual time packet by packet, and each router would be
// a stack with goroutines of its own.
package router
