// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"strconv"
	"strings"
)

// Loaded is one line of /proc/modules.
type Loaded struct {
	Name string
	// Size in bytes, of code and data.
	Size int64
	// References is the number of users, or -1 where the kernel cannot unload.
	References int64
	// Dependencies are the modules that use this module.
	Dependencies []string
	// State is Live, Loading or Unloading.
	State   string
	Address string
}

// ParseLoaded reads the text of /proc/modules.
func ParseLoaded(text []byte) ([]Loaded, error) {
	var out []Loaded

	for n, line := range lines(text) {
		f := strings.Fields(line)
		if len(f) < 6 {
			return nil, fmt.Errorf("/proc/modules: line %d: want at least 6 fields, got %q", n, line)
		}

		size, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/modules: line %d: size: %w", n, err)
		}

		refs := int64(-1)
		if f[2] != "-" {
			if refs, err = strconv.ParseInt(f[2], 10, 64); err != nil {
				return nil, fmt.Errorf("/proc/modules: line %d: references: %w", n, err)
			}
		}

		m := Loaded{Name: f[0], Size: size, References: refs, State: f[4], Address: f[5]}

		for d := range strings.SplitSeq(f[3], ",") {
			if d != "" && d != "-" && d != "[permanent]" {
				m.Dependencies = append(m.Dependencies, d)
			}
		}

		out = append(out, m)
	}

	return out, nil
}
