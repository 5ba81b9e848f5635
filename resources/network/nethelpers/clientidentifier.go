// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// ClientIdentifier is how a DHCP client identifies itself.
type ClientIdentifier uint8

// The DHCP client identifiers.
const (
	ClientIdentifierNone ClientIdentifier = 0
	ClientIdentifierMAC  ClientIdentifier = 1
	ClientIdentifierDUID ClientIdentifier = 2
)

var clientIdentifierNames = enum.Of[ClientIdentifier]("none", "mac", "duid")

func (c ClientIdentifier) String() string               { return clientIdentifierNames.Text(c) }
func (c ClientIdentifier) MarshalText() ([]byte, error) { return clientIdentifierNames.Marshal(c) }
func (c *ClientIdentifier) UnmarshalText(text []byte) error {
	return clientIdentifierNames.Parse("DHCP client identifier", text, c)
}
