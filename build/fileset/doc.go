// SPDX-License-Identifier: Apache-2.0

// Package fileset has the steps that extract files from Debian packages: the kernel, the boot loader, the firmware, certificates,
// and tools with the shared libraries that they need. build/debian.lock has the versions.
package fileset

import (
	"slices"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
)

// all returns all sets.
func all() []set { return slices.Concat(sets, testSets, biosSets) }

// Steps returns the steps of all sets. p provides the packages, for its flavour.
func Steps(p *Packages) []graph.Step {
	var steps []graph.Step

	for _, s := range p.sets() {
		if s.name == artifact.TargetGRUB {
			steps = append(steps, grubStep(s, p))
		} else {
			steps = append(steps, s.step(p))
		}
	}

	return steps
}
