// SPDX-License-Identifier: Apache-2.0

// Package program has the steps that compile programs: third-party ones, each from the Go module that its project released,
// pause, and our own.
//
// A third-party module is a folder in build/modules with a go.mod of ours, which a test holds to the versions of config/images.
package program

import (
	"github.com/seed-59268b81/talos/build/graph"
)

// Steps returns the steps of all programs, and of files that a program's release has beside it.
func Steps(root string) []graph.Step {
	steps := []graph.Step{pauseStep(root), testFilesStep(root)}

	for _, m := range modules() {
		steps = append(steps, m.step(root))
	}

	for _, p := range ownPrograms {
		steps = append(steps, p.step(root))
	}

	return steps
}
