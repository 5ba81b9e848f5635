// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"net/netip"
)

// Protocol is how an upstream is asked.
type Protocol uint8

// The protocols.
const (
	// Do53 is UDP, and TCP for answers that are too large for it.
	Do53 Protocol = iota
	// DoT is TLS.
	DoT
	// DoH is HTTPS.
	DoH
)

func (p Protocol) String() string { return [...]string{"Do53", "DoT", "DoH"}[min(p, DoH)] }

// Port returns the usual port of the protocol.
func (p Protocol) Port() uint16 { return [...]uint16{53, 853, 443}[min(p, DoH)] }

// Upstream is another DNS server.
type Upstream struct {
	Addr     netip.AddrPort
	Protocol Protocol
	// ServerName is the name in the certificate. Without it the certificate must have the address.
	ServerName string
}

func (u Upstream) String() string {
	if u.Protocol == Do53 {
		return u.Addr.String()
	}

	return u.Addr.String() + " (" + u.Protocol.String() + ")"
}

// certificateName returns the name or address that the certificate must have.
func (u Upstream) certificateName() string {
	if u.ServerName != "" {
		return u.ServerName
	}

	return u.Addr.Addr().WithZone("").String()
}
