// SPDX-License-Identifier: Apache-2.0

// Package router forwards IPv4 and IPv6 packets between networks of the lab, with or without a NAT.
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
// Core is the router without a clock and a network: it gets frames and times, and returns frames. Router connects one
// with ports of switches. So a test can run many routers in virtual time, and a lab the same ones in real time.
//
// # Functions
//
//   - The longest prefix wins, among the subnets of the legs and static routes.
//   - Neighbors are found with ARP and neighbor discovery; at most 16 packets wait for one. After three seconds without
//     an answer the senders get an ICMP error. The router answers ARP, neighbor discovery and echo requests for its own
//     addresses, and nothing else.
//   - ICMP and ICMPv6 errors: no route, no neighbor, TTL or hop limit exceeded, too big. IPv4 packets that may be
//     fragmented are.
//   - A leg can have a NAT (package nat), block UDP, or drop packets that are too big without an ICMP error. These
//     three can change while the router runs.
//
// # The path of a packet
//
// An IPv4 packet from a leg with a NAT must be for the NAT's external address; it is translated first. Nothing else
// behind the router can be reached from there. Then the packet is routed, checked against the MTU of the output leg,
// and translated if that leg is another one with a NAT. A packet from inside for the external address goes back inside
// if the NAT hairpins. ICMP errors quote the packet as its sender knows it, before any translation. IPv6 is not
// translated, and passes legs with a NAT.
//
// # Limits
//
// No reassembly, no redirects, no routing protocols, no multicast forwarding, no DHCP relay, no reverse path check, and
// no rate limit on errors. The router trusts ARP and neighbor discovery, as most do. Its hosts get their addresses from
// a lab/gateway on their network, whose DHCP and router advertisements name the router.
//
// A test of this package prints the NAT matrix, of which kinds of NAT two hosts can reach each other directly through:
// go test ./lab/router -run Matrix -v.
//
// gVisor's stack, which forwards too, was rejected: its NAT has only one behavior, it cannot run in virtual time packet
// by packet, and each router would be a stack with goroutines of its own.
package router
