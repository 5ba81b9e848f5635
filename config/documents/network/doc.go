// SPDX-License-Identifier: Apache-2.0

// Package network has the documents about the network.
package network

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind {
	return []document.Kind{
		bgp, blackhole, bond, bridge, defaultAction, dhcp4, dhcp6, dummy, ethernet, hcloudVIP, hostname, httpProbe, kubeSpan,
		kubeSpanEndpoints, layer2VIP, link, linkAlias, networkRule, resolver, routingRule, staticHost, tcpProbe, timeSync, veth, vlan, vrf,
		wireguard,
	}
}
