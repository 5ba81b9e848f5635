// SPDX-License-Identifier: Apache-2.0

// Package program has the steps that compile programs: third-party ones, each from its project's released Go module, pause,
// and our own.
//
// A third-party module is a folder in build/modules with our go.mod. A test checks its versions against config/images.
package program

import (
	"github.com/seed-59268b81/talos/build/graph"
)

// Steps returns the steps of all programs, and of additional files of their releases.
func Steps(root, version string) []graph.Step {
	steps := []graph.Step{pauseStep(root), testFilesStep(root)}

	for _, m := range modules() {
		steps = append(steps, m.step(root))
	}

	for _, p := range ownPrograms {
		steps = append(steps, p.step(root, version))
	}

	return steps
}
