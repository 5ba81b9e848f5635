// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// AddressSortAlgorithm is how node addresses are ordered.
type AddressSortAlgorithm uint8

// The address sort algorithms.
const (
	AddressSortV1 AddressSortAlgorithm = 0
	AddressSortV2 AddressSortAlgorithm = 1
)

var addressSortAlgorithmNames = enum.Names[AddressSortAlgorithm]{
	AddressSortV1: "v1",
	AddressSortV2: "v2",
}

func (a AddressSortAlgorithm) String() string { return addressSortAlgorithmNames.Text(a) }
func (a AddressSortAlgorithm) MarshalText() ([]byte, error) {
	return addressSortAlgorithmNames.Marshal(a)
}
func (a *AddressSortAlgorithm) UnmarshalText(text []byte) error {
	return addressSortAlgorithmNames.Parse("address sort algorithm", text, a)
}
