// SPDX-License-Identifier: Apache-2.0

// Package args merges the command line that the system sets for a program with the extra arguments of the machine configuration. A policy says
// for each flag whether the configuration overrides it, adds to its list, or may not set it because the node depends on its value. The result
// is checked against the flags of the program (package flags).
package args

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/flags"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// Mode is what the configuration may do with a flag.
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

// Set has the values of flags, by name without dashes; several values repeat the flag.
type Set map[string][]string

// Of returns the extra arguments of a component as a Set.
func Of(in k8s.Args) Set {
	out := make(Set, len(in))
	for name, v := range in {
		out[name] = v.Values
	}

	return out
}

// Merge returns the command line --name=value, sorted by name, or an error that names the component and each refused flag. The version of the
// program is that of the image.
func Merge(component, image string, wanted, extra Set, policy Policy) ([]string, error) {
	merged := make(Set, len(wanted)+len(extra))
	maps.Copy(merged, wanted)

	var refused []error

	for _, name := range slices.Sorted(maps.Keys(extra)) {
		values := extra[name]

		if err := policy.allows(name, wanted[name]); err != nil {
			refused = append(refused, fmt.Errorf("%s: extra argument %q is not allowed: %w", component, name, err))

			continue
		}

		switch policy[name] {
		case Additive:
			merged[name] = []string{union(wanted[name], values)}
		case Override:
			merged[name] = values
		case Denied: // refused above
		}
	}

	if len(refused) > 0 {
		return nil, errors.Join(refused...)
	}

	out := make([]string, 0, len(merged))

	for _, name := range slices.Sorted(maps.Keys(merged)) {
		for _, value := range merged[name] {
			out = append(out, "--"+name+"="+value)
		}
	}

	if err := flags.Check(component, image, out); err != nil {
		return nil, err
	}

	return out, nil
}

// ends are the flags with which every program prints something and exits.
var ends = []string{"help", "h", "version"}

// allows returns why the configuration may not set a flag. Kubernetes' programs accept underscores for dashes, so other spellings than the
// policy's are refused.
func (p Policy) allows(name string, wanted []string) error {
	switch {
	case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != "":
		return errors.New("want the name of a flag: letters and digits with dashes between")
	case strings.HasPrefix(name, "-"):
		return errors.New("want the name of a flag without dashes before it")
	case slices.Contains(ends, name):
		return errors.New("the program would exit at once")
	case p[name] == Denied && len(wanted) > 0:
		return fmt.Errorf("the system sets it to %q", strings.Join(wanted, ","))
	case p[name] == Denied:
		return errors.New("the system depends on it")
	default:
		return nil
	}
}

// union joins comma separated lists, each element once, in order.
func union(lists ...[]string) string {
	var out []string

	for _, values := range slices.Concat(lists...) {
		for v := range strings.SplitSeq(values, ",") {
			if v = strings.TrimSpace(v); v != "" && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}

	return strings.Join(out, ",")
}
