// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// DNSProtocol is the protocol of a name server.
type DNSProtocol uint8

// The protocols.
const (
	// DNSProtocolDo53 is UDP and TCP.
	DNSProtocolDo53 DNSProtocol = iota
	// DNSProtocolDoT is TLS.
	DNSProtocolDoT
	// DNSProtocolDoH is HTTPS.
	DNSProtocolDoH
)

var dnsProtocolNames = enum.Of[DNSProtocol]("Do53", "DoT", "DoH")

func (d DNSProtocol) String() string               { return dnsProtocolNames.Text(d) }
func (d DNSProtocol) MarshalText() ([]byte, error) { return dnsProtocolNames.Marshal(d) }
func (d *DNSProtocol) UnmarshalText(text []byte) error {
	return dnsProtocolNames.Parse("DNS protocol", text, d)
}
