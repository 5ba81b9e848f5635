// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

var broadcast = HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// receiveARP answers requests for the leg's own addresses, and learns those of neighbors (RFC 826).
func (c *Core) receiveARP(l *leg, b []byte) {
	message := header.ARP(b)
	if !message.IsValid() {
		return
	}

	sender := netip.AddrFrom4([4]byte(message.ProtocolAddressSender()))
	target := netip.AddrFrom4([4]byte(message.ProtocolAddressTarget()))
	mac := HardwareAddr(message.HardwareAddressSender())
	mine := l.owns(target)

	c.learn(l, sender, mac, mine)

	if mine && message.Op() == header.ARPRequest && !mac.group() {
		c.sendARP(l, header.ARPReply, target, mac, sender, mac)
	}
}

// askARP sends a request for an address.
func (c *Core) askARP(l *leg, target netip.Addr) {
	c.sendARP(l, header.ARPRequest, l.address4(target), broadcast, target, HardwareAddr{})
}

func (c *Core) sendARP(l *leg, op header.ARPOp, from netip.Addr, to HardwareAddr, target netip.Addr, mac HardwareAddr) {
	frame := c.frame(header.ARPSize)
	message := header.ARP(frame[etherLen:])
	message.SetIPv4OverEthernet()
	message.SetOp(op)
	copy(message.HardwareAddressSender(), l.MAC[:])
	copy(message.ProtocolAddressSender(), from.AsSlice())
	copy(message.HardwareAddressTarget(), mac[:])
	copy(message.ProtocolAddressTarget(), target.AsSlice())
	c.emit(l, frame, to, uint16(header.ARPProtocolNumber))
}

// address4 returns the leg's IPv4 address for packets to a host: the one in the host's subnet, or else the first.
// Without any it is 0.0.0.0, as in a probe (RFC 5227).
func (l *leg) address4(to netip.Addr) netip.Addr {
	first := netip.IPv4Unspecified()

	for _, a := range l.Addresses {
		switch {
		case !a.Addr().Is4():
		case a.Contains(to):
			return a.Addr()
		case first.IsUnspecified():
			first = a.Addr()
		}
	}

	return first
}
