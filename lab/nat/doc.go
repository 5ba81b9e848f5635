// SPDX-License-Identifier: Apache-2.0

// Package nat translates network addresses, as the routers of homes and offices do: IPv4 with one external address, for
// UDP, TCP and ICMP echo.
//
//	table, err := nat.New(nat.Config{
//		External:  netip.MustParseAddr("198.51.100.7"),
//		Mapping:   nat.EndpointIndependent,
//		Filtering: nat.AddressAndPortDependent,
//	})
//	verdict := table.Translate(nat.Outbound, packet, now) // packet is changed in place
//	if !verdict.Dropped() { … }
//
// A table has no clock and no network: its verdicts depend only on its configuration, the earlier packets and their
// times. Two tables in a chain are a double NAT. Package router connects a table with a network.
//
// # Terms
//
// They are those of RFC 4787. A mapping joins an internal endpoint (address and port, or address and identifier of an
// ICMP query) with a port of the external address. The mapping behavior defines for which remote endpoints a mapping is
// used again, the filtering behavior from which remote endpoints packets are accepted. Full cone, restricted cone, port
// restricted cone and symmetric are four of the nine combinations: see Kind.
//
// # Protocols
//
//   - UDP (RFC 4787): packets from inside refresh a mapping, those from outside only with RefreshInbound. A checksum of
//     zero stays zero.
//   - TCP (RFC 5382): a connection begins with a SYN, from inside or, where filtering allows, from outside; both at
//     once are a simultaneous open. Other segments of no connection are dropped. Connections that are being opened or
//     closed have the transitory timeout.
//   - ICMP (RFC 5508): echo requests from inside get an identifier of the external address in the same way as a port.
//     Errors are translated together with the packet that they carry; they do not refresh a mapping.
//   - Fragments: later fragments follow their first one. One that comes before its first is dropped ("receive fragments
//     ordered" in RFC 4787, section 11).
//   - Hairpinning: see Hairpin. Port forwards: see Forward.
//   - Checksums are updated incrementally (RFC 1624), so that the checksum of a damaged packet stays wrong.
//
// # Limits
//
// One external address; no other protocols (SCTP, GRE, ESP), no application level gateways, no NAT64, no port mapping
// protocols (UPnP, PCP). Sequence numbers of TCP are not checked. The identification of IPv4 packets is kept, so
// fragments of two internal hosts for one remote host can collide. A port below 1024 may be mapped to one above,
// against the recommendation of RFC 4787, REQ-3. A Table is not safe for concurrent use.
//
// The kernel's own NAT was rejected: it has only one mapping and filtering behavior (both address and port dependent),
// needs a namespace and root for each router, and cannot run in virtual time.
package nat
