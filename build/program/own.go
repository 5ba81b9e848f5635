// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/source"
)

// ownPrograms are the programs of this repository, with descriptions.
var ownPrograms = map[string]string{
	artifact.TargetTalos:    "the operating system's program",
	artifact.TargetInit:     "process 1 of the initramfs",
	artifact.TargetModprobe: "loads modules for the kernel",
	artifact.TargetSandbox:  "sandboxes services",
	artifact.TargetTalosctl: "the client",
}

// ownStep builds cmd/NAME.
func ownStep(root, name string) graph.Step {
	return graph.Step{
		Name:  name,
		About: ownPrograms[name],
		Heavy: true,
		Inputs: func(ctx context.Context, _ graph.Results) ([]string, error) {
			version, err := output(ctx, root, "go", "env", "GOVERSION")
			if err != nil {
				return nil, err
			}

			// All sources of the module, although a program uses only some: a build that changes nothing takes a second,
			// and so does listing the sources that the program uses.
			sources, err := source.Hash(root, isSource)
			sha, built := revision(ctx, root)

			return []string{version, goLinkFlags, strings.Join(goBuildFlags, " "), sources, sha, built}, err
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			sha, built := revision(ctx, root)

			return goBuild(ctx, w, goBuildArgs{
				dir: root, out: filepath.Join(w.Dir, name), tags: "osusergo,netgo", packages: []string{"./cmd/" + name},
				variables: map[string]string{
					"github.com/seed-59268b81/talos/version.SHA":   sha,
					"github.com/seed-59268b81/talos/version.Built": built,
				},
			})
		},
		Publish: map[string]string{name: artifact.Published.Bin(name)},
	}
}

// isSource reports whether a file of the repository can be part of our programs.
func isSource(rel string) bool {
	return !strings.HasSuffix(rel, "_test.go") && !strings.HasSuffix(rel, ".md") &&
		!strings.Contains(rel, "testdata/") && !strings.HasPrefix(rel, "docs/")
}

// revision returns the abbreviated commit and its time. The commit ends in -dirty if the tree has changes.
func revision(ctx context.Context, root string) (sha, built string) {
	head, err := output(ctx, root, "git", "log", "-1", "--format=%h %cI")
	if err != nil {
		return "unknown", "unknown" // an exported tree, or before the first commit
	}

	sha, built, _ = strings.Cut(head, " ")

	if changes, err := output(ctx, root, "git", "status", "--porcelain", "--untracked-files=no"); err == nil && changes != "" {
		sha += "-dirty"
	}

	return sha, built
}
