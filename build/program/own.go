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

// ownProgram is a program of this repository: cmd/NAME.
type ownProgram struct {
	target, name, about string
	// symbols keeps what a debugger reads.
	symbols   bool
	published string
}

var ownPrograms = []ownProgram{
	own(artifact.TargetTalos, "the operating system's program"),
	own(artifact.TargetInit, "process 1 of the initramfs"),
	own(artifact.TargetModprobe, "what the kernel calls for a module"),
	own(artifact.TargetSandbox, "what puts services into their sandboxes"),
	own(artifact.TargetTalosctl, "the client"),
	{
		target: artifact.TargetDebug, name: "talos", about: "the operating system's program with symbols",
		symbols: true, published: artifact.Published.Debug(),
	},
}

func own(name, about string) ownProgram {
	return ownProgram{target: name, name: name, about: about, published: artifact.Published.Bin(name)}
}

func (p ownProgram) step(root string) graph.Step {
	return graph.Step{
		Name:  p.target,
		About: p.about,
		Heavy: true,
		Inputs: func(ctx context.Context, _ graph.Results) ([]string, error) {
			version, err := output(ctx, root, "go", "env", "GOVERSION")
			if err != nil {
				return nil, err
			}

			// All of the module's sources, of which a program uses a part: what the go command finds unchanged in its own
			// cache costs a second, and finding out the part costs as much.
			sources, err := source.Hash(root, isSource)
			sha, built := revision(ctx, root)

			return []string{version, goLinkFlags, strings.Join(goBuildFlags, " "), sources, sha, built}, err
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			sha, built := revision(ctx, root)

			return goBuild(ctx, w, goBuildArgs{
				dir: root, out: filepath.Join(w.Dir, p.name), tags: "osusergo,netgo", packages: []string{"./cmd/" + p.name}, symbols: p.symbols,
				variables: map[string]string{
					"github.com/seed-59268b81/talos/version.SHA":   sha,
					"github.com/seed-59268b81/talos/version.Built": built,
				},
			})
		},
		Publish: map[string]string{p.name: p.published},
	}
}

// isSource tells whether a file of the repository can be part of our programs.
func isSource(rel string) bool {
	switch {
	case strings.HasSuffix(rel, "_test.go"), strings.HasSuffix(rel, ".md"):
		return false
	case strings.Contains(rel, "testdata/"), strings.HasPrefix(rel, "docs/"):
		return false
	}

	return true
}

// revision returns the abbreviated commit, marked when the tree differs from it, and its time.
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
