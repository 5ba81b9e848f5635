// SPDX-License-Identifier: Apache-2.0

package nethelpers

// AddressFlags are the flags of an address (IFA_F_*).
type AddressFlags uint32

// The address flags.
const (
	AddressTemporary      AddressFlags = 1 << 0
	AddressNoDAD          AddressFlags = 1 << 1
	AddressOptimistic     AddressFlags = 1 << 2
	AddressDADFailed      AddressFlags = 1 << 3
	AddressHome           AddressFlags = 1 << 4
	AddressDeprecated     AddressFlags = 1 << 5
	AddressTentative      AddressFlags = 1 << 6
	AddressPermanent      AddressFlags = 1 << 7
	AddressManagementTemp AddressFlags = 1 << 8
	AddressNoPrefixRoute  AddressFlags = 1 << 9
	AddressMCAutoJoin     AddressFlags = 1 << 10
	AddressStablePrivacy  AddressFlags = 1 << 11
)

var addressFlagsNames = bits[AddressFlags]{
	{AddressTemporary, "temporary"},
	{AddressNoDAD, "nodad"},
	{AddressOptimistic, "optimistic"},
	{AddressDADFailed, "dadfailed"},
	{AddressHome, "homeaddress"},
	{AddressDeprecated, "deprecated"},
	{AddressTentative, "tentative"},
	{AddressPermanent, "permanent"},
	{AddressManagementTemp, "mngmtmpaddr"},
	{AddressNoPrefixRoute, "noprefixroute"},
	{AddressMCAutoJoin, "mcautojoin"},
	{AddressStablePrivacy, "stableprivacy"},
}

// String implements fmt.Stringer.
func (a AddressFlags) String() string { return addressFlagsNames.text(a) }

// MarshalText implements encoding.TextMarshaler.
func (a AddressFlags) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *AddressFlags) UnmarshalText(text []byte) error {
	return addressFlagsNames.parse("address flags", text, a)
}
