// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/config/value"
)

// RoutingTable is a routing table of the kernel.
type RoutingTable uint32

// tables have names (rtnetlink(7)).
var tables = map[string]RoutingTable{"unspec": 0, "default": 253, "main": 254, "local": 255}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *RoutingTable) UnmarshalText(text []byte) error {
	if table, ok := tables[string(text)]; ok {
		*t = table

		return nil
	}

	n, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil {
		return fmt.Errorf("%q is not a routing table: want a number or one of %s", text, strings.Join(slices.Sorted(maps.Keys(tables)), ", "))
	}

	*t = RoutingTable(n)

	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (t RoutingTable) MarshalText() ([]byte, error) {
	for name, table := range tables {
		if table == t {
			return []byte(name), nil
		}
	}

	return strconv.AppendUint(nil, uint64(t), 10), nil
}

// Format implements value.Formatted.
func (RoutingTable) Format() value.Format {
	return value.Format{About: "a routing table", Example: "main"}
}
