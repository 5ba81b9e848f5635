// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"

	"github.com/seed-59268b81/talos/cosi/controller"
)

// claims says who writes which type, in whatever namespace.
type claims map[string][]claim

type claim struct {
	controller string
	kind       controller.OutputKind
}

func (c claims) add(name string, outputs []controller.Output) error {
	seen := map[string]bool{}

	for _, out := range outputs {
		if seen[out.Type] {
			return fmt.Errorf("output %s is declared twice", out.Type)
		}

		seen[out.Type] = true

		for _, other := range c[out.Type] {
			if other.kind == controller.Exclusive || out.Kind == controller.Exclusive {
				return fmt.Errorf("output %s is already one of %q: both must declare it shared", out.Type, other.controller)
			}
		}
	}

	for _, out := range outputs {
		c[out.Type] = append(c[out.Type], claim{controller: name, kind: out.Kind})
	}

	return nil
}
