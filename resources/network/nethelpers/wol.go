// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// WOLMode is one thing that wakes up a machine (WAKE_* of ethtool).
type WOLMode uint32

var wolModeNames = enum.Names[WOLMode]{
	1: "phy", 2: "unicast", 4: "multicast", 8: "broadcast", 16: "arp", 32: "magic", 64: "magicsecure", 128: "filter",
}

func (w WOLMode) String() string               { return wolModeNames.Text(w) }
func (w WOLMode) MarshalText() ([]byte, error) { return wolModeNames.Marshal(w) }
func (w *WOLMode) UnmarshalText(text []byte) error {
	return wolModeNames.Parse("wake-up mode", text, w)
}
