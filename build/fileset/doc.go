// SPDX-License-Identifier: Apache-2.0

// Package fileset has the steps that extract files from Debian packages: the kernel, the boot loader, the firmware, certificates,
// and tools with the shared libraries that they need. build/debian.lock has the versions.
package fileset

import (
	"github.com/seed-59268b81/talos/build/graph"
)

// Steps returns the steps of all sets. p provides the packages, for its flavour.
func Steps(p *Packages) []graph.Step {
	var steps []graph.Step

	for _, s := range p.sets() {
		steps = append(steps, s.step(p))
	}

	return steps
}
