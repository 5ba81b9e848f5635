// SPDX-License-Identifier: Apache-2.0

// Package args merges the command line that the system wants for a program with what the machine configuration
// adds, under a policy by flag: most are overridden, some lists are added to, some are refused because the node
// would not work with another value.
package args

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is what the configuration may do to a flag.
type Mode uint8

// The modes. The zero one lets the configuration replace the value.
const (
	Override Mode = iota
	// Additive joins both lists of comma separated values.
	Additive
	// Denied refuses the flag.
	Denied
)

// Policy is the mode of each flag that is not Override.
type Policy map[string]Mode

// Set are the values of flags, by name without dashes; several values repeat the flag.
type Set map[string][]string

// Merge returns the command line --name=value, sorted by name, or an error that names the component and the flag.
func Merge(component string, wanted, extra Set, policy Policy) ([]string, error) {
	merged := make(Set, len(wanted)+len(extra))

	for name, values := range wanted {
		merged[name] = values
	}

	for name, values := range extra {
		switch policy[name] {
		case Denied:
			return nil, fmt.Errorf("%s: extra argument %q is not allowed: the system sets it to %q", component, name, strings.Join(wanted[name], ","))
		case Additive:
			merged[name] = []string{union(wanted[name], values)}
		case Override:
			merged[name] = values
		}
	}

	names := make([]string, 0, len(merged))
	for name := range merged {
		names = append(names, name)
	}

	slices.Sort(names)

	out := make([]string, 0, len(names))

	for _, name := range names {
		for _, value := range merged[name] {
			out = append(out, "--"+name+"="+value)
		}
	}

	return out, nil
}

// union joins comma separated lists, each element once, in order.
func union(lists ...[]string) string {
	var out []string

	for _, list := range lists {
		for _, values := range list {
			for v := range strings.SplitSeq(values, ",") {
				if v = strings.TrimSpace(v); v != "" && !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
	}

	return strings.Join(out, ",")
}
