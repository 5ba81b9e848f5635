// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// Family is an address family, numbered as the kernel does.
type Family uint8

// The address families.
const (
	FamilyInet4 Family = 2
	FamilyInet6 Family = 10
)

var familyNames = enum.Names[Family]{FamilyInet4: "inet4", FamilyInet6: "inet6"}

func (f Family) String() string               { return familyNames.Text(f) }
func (f Family) MarshalText() ([]byte, error) { return familyNames.Marshal(f) }
func (f *Family) UnmarshalText(text []byte) error {
	return familyNames.Parse("address family", text, f)
}

// Scope is how far an address or route is valid, numbered as the kernel does.
type Scope uint8

// The scopes that are used here.
const (
	ScopeGlobal Scope = 0
	ScopeLink   Scope = 253
	ScopeHost   Scope = 254
)

var scopeNames = enum.Names[Scope]{ScopeGlobal: "global", 200: "site", ScopeLink: "link", ScopeHost: "host", 255: "nowhere"}

func (s Scope) String() string                   { return scopeNames.Text(s) }
func (s Scope) MarshalText() ([]byte, error)     { return scopeNames.Marshal(s) }
func (s *Scope) UnmarshalText(text []byte) error { return scopeNames.Parse("scope", text, s) }

// AddressFlags are the flags of an address (IFA_F_*).
type AddressFlags uint32

// The address flags that are used here.
const (
	AddressTemporary      AddressFlags = 1 << 0
	AddressDADFailed      AddressFlags = 1 << 3
	AddressDeprecated     AddressFlags = 1 << 5
	AddressTentative      AddressFlags = 1 << 6
	AddressPermanent      AddressFlags = 1 << 7
	AddressManagementTemp AddressFlags = 1 << 8
	AddressNoPrefixRoute  AddressFlags = 1 << 9
)

var addressFlagsNames = bits[AddressFlags]{
	"temporary", "nodad", "optimistic", "dadfailed", "homeaddress", "deprecated", "tentative", "permanent",
	"mngmtmpaddr", "noprefixroute", "mcautojoin", "stableprivacy",
}

func (a AddressFlags) String() string               { return addressFlagsNames.text(a) }
func (a AddressFlags) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
func (a *AddressFlags) UnmarshalText(text []byte) error {
	return addressFlagsNames.parse("address flags", text, a)
}

// AddressSortAlgorithm is how node addresses are ordered.
type AddressSortAlgorithm uint8

// The address sort algorithms.
const (
	AddressSortV1 AddressSortAlgorithm = iota
	AddressSortV2
)

var addressSortAlgorithmNames = enum.Of[AddressSortAlgorithm]("v1", "v2")

func (a AddressSortAlgorithm) String() string { return addressSortAlgorithmNames.Text(a) }
func (a AddressSortAlgorithm) MarshalText() ([]byte, error) {
	return addressSortAlgorithmNames.Marshal(a)
}
func (a *AddressSortAlgorithm) UnmarshalText(text []byte) error {
	return addressSortAlgorithmNames.Parse("address sort algorithm", text, a)
}
