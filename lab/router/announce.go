// SPDX-License-Identifier: Apache-2.0

package router

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// The flags of a router advertisement and of its prefixes, and the options that
// it may have (RFC 4861, section 4; RFC 8106).
const (
	managed    = 0x80
	otherwise  = 0x40
	onLink     = 0x80
	autonomous = 0x40

	optionPrefix = 3
	optionMTU    = 5
	optionDNS    = 25

	advertisementLen = 16
)

// tickAnnouncement sends an advertisement when it is due.
func (c *Core) tickAnnouncement(l *leg) {
	if l.Announce == nil || c.now.Before(l.announce) {
		return
	}

	l.announce = c.now.Add(cmp.Or(l.Announce.Interval, DefaultAnnounceInterval))
	c.announceTo(l, allNodes, multicastMAC(allNodes))
}

// announceTo sends an advertisement.
func (c *Core) announceTo(l *leg, to netip.Addr, mac HardwareAddr) {
	message := l.Announce.message(l.MAC)
	frame := c.frame(header.IPv6MinimumSize + len(message))
	copy(frame[etherLen+header.IPv6MinimumSize:], message)
	writeHeader6(frame, l.linkLocal, to, ndpHopLimit)
	c.emit(l, frame, mac, uint16(header.IPv6ProtocolNumber))
}

// message returns the ICMPv6 message, without a checksum.
func (a *Announcement) message(mac HardwareAddr) []byte {
	b := make([]byte, advertisementLen)
	b[0] = byte(header.ICMPv6RouterAdvert)
	b[4] = ownTTL

	if a.Managed {
		b[5] |= managed
	}

	if a.Other {
		b[5] |= otherwise
	}

	lifetime := max(cmp.Or(a.Lifetime, DefaultRouterLifetime), 0)
	binary.BigEndian.PutUint16(b[6:], uint16(lifetime/time.Second))

	source := make([]byte, linkOptionLen)
	writeLinkOption(source, sourceLinkAddress, mac)
	b = append(b, source...)

	if a.MTU != 0 {
		b = append(b, optionMTU, 1, 0, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(a.MTU))
	}

	for _, p := range a.Prefixes {
		flags := byte(onLink | autonomous)
		if p.NotAutonomous {
			flags = onLink
		}

		b = append(b, optionPrefix, 4, byte(p.Prefix.Bits()), flags)
		b = binary.BigEndian.AppendUint32(b, seconds(cmp.Or(p.Valid, DefaultPrefixValid)))
		b = binary.BigEndian.AppendUint32(b, seconds(cmp.Or(p.Preferred, DefaultPrefixPreferred)))
		b = append(b, 0, 0, 0, 0)
		b = append(b, p.Prefix.Masked().Addr().AsSlice()...)
	}

	if len(a.DNS) > 0 {
		b = append(b, optionDNS, byte(1+2*len(a.DNS)), 0, 0)
		b = binary.BigEndian.AppendUint32(b, seconds(max(lifetime, 3*cmp.Or(a.Interval, DefaultAnnounceInterval))))

		for _, d := range a.DNS {
			b = append(b, d.AsSlice()...)
		}
	}

	return b
}

// seconds of a lifetime; all ones are infinity, which is not said by accident.
func seconds(d time.Duration) uint32 { return uint32(min(d/time.Second, 1<<32-2)) }
