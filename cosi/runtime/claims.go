// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
)

// claims records which controllers write which type.
type claims map[string][]claim

type claim struct {
	controller string
	output     controller.Output
}

func (c claims) add(name string, outputs []controller.Output) error {
	for i, out := range outputs {
		if slices.ContainsFunc(outputs[:i], func(other controller.Output) bool { return other.Type == out.Type && meet(other, out) }) {
			return fmt.Errorf("output %s is declared twice", out.Type)
		}

		for _, other := range c[out.Type] {
			exclusive := other.output.Kind == controller.Exclusive || out.Kind == controller.Exclusive
			if exclusive && meet(other.output, out) {
				return fmt.Errorf("output %s is already an output of %q: both must declare it shared", out.Type, other.controller)
			}
		}
	}

	for _, out := range outputs {
		c[out.Type] = append(c[out.Type], claim{controller: name, output: out})
	}

	return nil
}

// meet reports whether two outputs of one type have a namespace in common.
func meet(a, b controller.Output) bool {
	return a.Namespace == "" || b.Namespace == "" || a.Namespace == b.Namespace
}

func (c claims) remove(name string) {
	for typ, list := range c {
		c[typ] = slices.DeleteFunc(list, func(x claim) bool { return x.controller == name })
	}
}
