// SPDX-License-Identifier: Apache-2.0

package view

import "github.com/seed-59268b81/talos/config/v1alpha1"

// linkOfDevice returns what an element of machine.network.interfaces says.
func linkOfDevice(at string, d *v1alpha1.Device) Link {
	l := Link{At: at, Name: d.Interface, Ignore: IsTrue(d.Ignore), MTU: d.MTU, Dummy: IsTrue(d.Dummy)}
	if l.Name == "" {
		l.Selector = d.Selector
	}

	l.layer3(d.Addresses, d.Routes, d.DHCP, d.DHCPOptions)
	l.VIP = vipOf(d.VIP)

	switch {
	case d.Bond != nil:
		l.Bond, l.Dummy = &Bond{Bond: *d.Bond}, false
		l.Ports, l.PortSelectors = d.Bond.Interfaces, d.Bond.DeviceSelectors
	case d.Bridge != nil:
		l.Bridge, l.Dummy, l.Ports = bridgeOf(d.Bridge), false, d.Bridge.Interfaces
	case d.WireGuard != nil:
		l.WireGuard, l.Dummy = wireGuardOf(d.WireGuard), false
	}

	if d.BridgePort != nil {
		l.Bridged = d.BridgePort.Master
	}

	for i := range d.VLANs {
		v := &d.VLANs[i]
		tagged := Link{At: at, MTU: v.MTU, VLAN: &VLAN{ID: v.ID}, VIP: vipOf(v.VIP)}
		tagged.layer3(v.Addresses, v.Routes, v.DHCP, v.DHCPOptions)
		l.Tagged = append(l.Tagged, tagged)
	}

	return l
}

// layer3 sets addresses, routes and DHCP clients. DHCP is for IPv4, and for IPv6 if routers say so, unless the options decide.
func (l *Link) layer3(addresses []string, routes []v1alpha1.Route, dhcp *bool, options *v1alpha1.DHCPOptions) {
	for _, a := range addresses {
		l.Addresses = append(l.Addresses, LinkAddress{Address: a})
	}

	for _, r := range routes {
		l.Routes = append(l.Routes, Route{Destination: r.Network, Gateway: r.Gateway, Source: r.Source, Metric: r.Metric, MTU: r.MTU})
	}

	if !IsTrue(dhcp) {
		return
	}

	var o v1alpha1.DHCPOptions
	if options != nil {
		o = *options
	}

	if IsTrueOr(o.IPv4, true) {
		l.DHCP4 = &DHCP{RouteMetric: o.RouteMetric}
	}

	if IsTrueOr(o.IPv6, true) {
		l.DHCP6 = &DHCP{DUID: o.DUIDv6, Advertised: o.IPv6 == nil}
		if o.DUIDv6 != "" {
			l.DHCP6.ClientIdentifier = "duid"
		}
	}
}

func bridgeOf(b *v1alpha1.Bridge) *Bridge {
	return &Bridge{
		STP:           b.STP != nil && IsTrue(b.STP.Enabled),
		VLANFiltering: b.VLAN != nil && IsTrue(b.VLAN.Filtering),
	}
}

func wireGuardOf(w *v1alpha1.WireGuard) *WireGuard {
	out := &WireGuard{PrivateKey: w.PrivateKey, ListenPort: w.ListenPort, FirewallMark: w.FirewallMark}

	for _, p := range w.Peers {
		out.Peers = append(out.Peers, WireGuardPeer{
			PublicKey: p.PublicKey, Endpoint: p.Endpoint, Keepalive: p.PersistentKeepalive, AllowedIPs: p.AllowedIPs,
		})
	}

	return out
}
