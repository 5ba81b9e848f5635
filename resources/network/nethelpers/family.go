// SPDX-License-Identifier: Apache-2.0

package nethelpers

// Family is an address family, numbered as the kernel does.
type Family uint8

// The address familys.
const (
	FamilyInet4 Family = 2
	FamilyInet6 Family = 10
)

var familyNames = names[Family]{
	FamilyInet4: "inet4",
	FamilyInet6: "inet6",
}

// String implements fmt.Stringer.
func (f Family) String() string { return familyNames.text(f) }

// MarshalText implements encoding.TextMarshaler.
func (f Family) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Family) UnmarshalText(text []byte) error {
	return familyNames.parse("address family", text, f)
}
