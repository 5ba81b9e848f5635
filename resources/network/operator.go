// SPDX-License-Identifier: Apache-2.0

package network

import "github.com/seed-59268b81/talos/resources/enum"

// Operator is a kind of operator.
type Operator uint8

// The operators.
const (
	OperatorDHCP4 Operator = iota
	OperatorDHCP6
	OperatorVIP
)

var operatorNames = enum.Of[Operator]("dhcp4", "dhcp6", "vip")

func (o Operator) String() string               { return operatorNames.Text(o) }
func (o Operator) MarshalText() ([]byte, error) { return operatorNames.Marshal(o) }
func (o *Operator) UnmarshalText(text []byte) error {
	return operatorNames.Parse("network operator", text, o)
}
