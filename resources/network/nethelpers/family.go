// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// Family is an address family, numbered as the kernel does.
type Family uint8

// The address familys.
const (
	FamilyInet4 Family = 2
	FamilyInet6 Family = 10
)

var familyNames = enum.Names[Family]{
	FamilyInet4: "inet4",
	FamilyInet6: "inet6",
}

func (f Family) String() string               { return familyNames.Text(f) }
func (f Family) MarshalText() ([]byte, error) { return familyNames.Marshal(f) }
func (f *Family) UnmarshalText(text []byte) error {
	return familyNames.Parse("address family", text, f)
}
