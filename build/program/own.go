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
	// symbols keeps the symbols for a debugger.
	symbols   bool
	published string
}

// ownTags are the build tags of our programs. grpcnotrace leaves out a list of requests as web pages, which no program serves, and with it
// html/template.
const ownTags = "osusergo,netgo,grpcnotrace"

var ownPrograms = []ownProgram{
	own(artifact.TargetTalos, "the operating system's program"),
	own(artifact.TargetInit, "process 1 of the initramfs"),
	own(artifact.TargetModprobe, "loads modules for the kernel"),
	own(artifact.TargetSandbox, "sandboxes services"),
	own(artifact.TargetTalosctl, "the client"),
	own(artifact.TargetImager, "makes images of the system for a purpose"),
	{
		target: artifact.TargetDebug, name: "talos", about: "the operating system's program with symbols",
		symbols: true, published: artifact.Published.Debug(),
	},
}

func own(name, about string) ownProgram {
	return ownProgram{target: name, name: name, about: about, published: artifact.Published.Bin(name)}
}

func (p ownProgram) step(root, tag string) graph.Step {
	return graph.Step{
		Name:  p.target,
		About: p.about,
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

			return []string{version, goLinkFlags, strings.Join(goBuildFlags, " "), ownTags, sources, sha, built, tag}, err
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			sha, built := revision(ctx, root)

			return goBuild(ctx, w, goBuildArgs{
				dir: root, out: filepath.Join(w.Dir, p.name), tags: ownTags, packages: []string{"./cmd/" + p.name}, symbols: p.symbols,
				variables: map[string]string{
					"github.com/seed-59268b81/talos/version.Tag":   tag,
					"github.com/seed-59268b81/talos/version.SHA":   sha,
					"github.com/seed-59268b81/talos/version.Built": built,
				},
			})
		},
		Publish: map[string]string{p.name: p.published},
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
