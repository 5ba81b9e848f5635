// SPDX-License-Identifier: Apache-2.0

// Package nat translates network addresses, as the boxes do behind which homes
// and offices live: IPv4 with one external address, for UDP, TCP and ICMP echo.
//
//	table, err := nat.New(nat.Config{
//		External:  netip.MustParseAddr("198.51.100.7"),
//		Mapping:   nat.EndpointIndependent,
//		Filtering: nat.AddressAndPortDependent,
//	})
//	verdict := table.Translate(nat.Outbound, packet, now) // packet is changed in place
//	if !verdict.Dropped() { … }
//
// A table has no clock and no network: what it does follows from its
// configuration, the packets that it saw and their times. Two tables chained
// are a double NAT. Package router connects a table with a network.
//
// # Terms
//
// They are those of RFC 4787. A mapping joins an internal endpoint (address and
// port, or address and identifier of an ICMP query) with a port of the external
// address. Its mapping behavior says for which remote endpoints a mapping is
// used again; its filtering behavior says from which remote endpoints packets
// are let in. What people call full cone, restricted cone, port restricted cone
// and symmetric are four of the nine combinations: see Kind.
//
// # What is done
//
//   - UDP (RFC 4787): packets from inside refresh a mapping, those from outside
//     only with RefreshInbound. A checksum of zero stays zero.
//   - TCP (RFC 5382): a connection begins with a SYN, from inside or, where
//     filtering allows, from outside; both at once are a simultaneous open. Other
//     segments of no connection are dropped. Connections that are being opened or
//     closed have the transitory timeout.
//   - ICMP (RFC 5508): echo requests from inside get an identifier of the
//     external address as they would a port. Errors are translated together with
//     the packet that they carry; they refresh nothing.
//   - Fragments: later fragments follow their first one. One that comes before
//     its first is dropped ("receive fragments ordered" in RFC 4787, section 11).
//   - Hairpinning: see Hairpin. Port forwards: see Forward.
//   - Checksums are updated incrementally (RFC 1624), so that a packet that was
//     damaged before the translation is seen to be damaged after it.
//
// # Limits
//
// One external address; no other protocols (SCTP, GRE, ESP), no application
// level gateways, no NAT64, no port mapping protocols (UPnP, PCP). Sequence
// numbers of TCP are not checked. The identification of IPv4 packets is kept,
// so fragments of two internal hosts for one remote host can collide. A
// port below 1024 may be mapped to one above, against the recommendation of RFC
// 4787, REQ-3. A Table is not safe for concurrent use.
//
// The kernel's own NAT was rejected: it has one mapping and filtering behavior
// (address and port dependent, both), needs a namespace and root for each
// router, and knows no virtual time.
package nat
