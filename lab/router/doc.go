// SPDX-License-Identifier: Apache-2.0

// Package router forwards IPv4 and IPv6 packets between networks of the lab:
// between sites, or between a site and the world behind a NAT.
//
//	r, err := router.Start(router.Config{
//		Legs: []router.Leg{
//			{Name: "site", MAC: siteMAC, Addresses: []netip.Prefix{site}},
//			{Name: "world", MAC: worldMAC, Addresses: []netip.Prefix{world}, NAT: &nat.Config{}},
//		},
//		Routes: []router.Route{{Destination: everywhere, Gateway: upstream}},
//	}, []router.Plug{{Switch: siteSwitch, Port: "router"}, {Switch: worldSwitch, Port: "site-router"}})
//	defer r.Close()
package router
