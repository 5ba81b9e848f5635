// SPDX-License-Identifier: Apache-2.0

package network

import "fmt"

// Operator is a kind of operator.
type Operator uint8

// The operators.
const (
	OperatorDHCP4 Operator = iota
	OperatorDHCP6
	OperatorVIP
)

var operatorNames = [...]string{"dhcp4", "dhcp6", "vip"}

// String is the name of the operator.
func (o Operator) String() string {
	if int(o) < len(operatorNames) {
		return operatorNames[o]
	}

	return fmt.Sprintf("operator%d", uint8(o))
}

// MarshalText implements encoding.TextMarshaler.
func (o Operator) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Operator) UnmarshalText(text []byte) error {
	for i, name := range operatorNames {
		if name == string(text) {
			*o = Operator(i)

			return nil
		}
	}

	return fmt.Errorf("unknown network operator %q: want one of %v", text, operatorNames)
}
