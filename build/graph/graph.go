// SPDX-License-Identifier: Apache-2.0

// Package graph runs a graph of build steps with a cache addressed by content.
//
// A step writes its result into an empty folder. The result is cached under a key: the hash of the step's name, its
// declared inputs and the digests of the results it needs. A step whose key is in the cache does not run. The key has the
// digests of results, not the keys of their steps: if a step runs and its result is the same as before, the steps after it
// do not run.
//
// A result is published by hard links in the output folder, so a build with a full cache copies nothing. Therefore a
// published file must not be modified in place; replace it.
//
// # Use
//
//	g := graph.New(cacheDir, outDir)
//	g.Add(graph.Step{Name: "hello", Inputs: ..., Run: ..., Publish: map[string]string{"hello": "bin/hello"}})
//	err := g.Run(ctx, reporter, "hello")
//
// # Limits
//
// Inputs that a step does not declare are ignored: a step that calls a compiler must declare the compiler's version. A
// result has only regular files, folders and symbolic links. One process at a time uses a cache; others wait.
package graph

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Step is one node of the graph.
type Step struct {
	// Name is unique in the graph and a valid file name.
	Name string
	// About is a short description for users.
	About string
	// Needs are the names of the steps whose results this one reads.
	Needs []string
	// Inputs returns all inputs besides the results of Needs. It is called in every run, when those results exist, so it
	// must be fast. nil means no inputs.
	Inputs func(ctx context.Context, needs Results) ([]string, error)
	// Heavy steps use much processor time, so only a few of them run at once.
	Heavy bool
	// Run creates the result.
	Run func(ctx context.Context, w *Work) error
	// Publish maps a path in the result to a path in the output folder. "." is the whole result. A published folder
	// belongs to the step: other files in it are removed.
	Publish map[string]string
}

// Work is the environment of a running step.
type Work struct {
	// Dir is the empty folder for the result.
	Dir string
	// Needs are the results of the steps needed.
	Needs Results
	// Progress reports what the step does now. It replaces the previous report.
	Progress func(format string, args ...any)
}

// Result is a finished step's result in the cache.
type Result struct {
	// Dir has the result's files. They must not be modified.
	Dir string
	// Digest is the hash of the names, kinds and contents of the files.
	Digest string
}

// Results maps names of steps to their results.
type Results map[string]Result

// Graph is a set of steps.
type Graph struct {
	cache string
	out   string
	steps map[string]Step
	// Slots is the maximum number of heavy steps that run at once.
	Slots int
}

// New returns an empty graph with the given cache and output folder.
func New(cache, out string) *Graph {
	return &Graph{cache: cache, out: out, steps: map[string]Step{}, Slots: 1}
}

// Add adds a step. It panics if the graph has a step with the same name.
func (g *Graph) Add(s Step) {
	if _, ok := g.steps[s.Name]; ok {
		panic("graph: step " + s.Name + " is added twice")
	}

	g.steps[s.Name] = s
}

// Steps returns the steps sorted by name.
func (g *Graph) Steps() []Step {
	return slices.SortedFunc(maps.Values(g.steps), func(a, b Step) int { return strings.Compare(a.Name, b.Name) })
}

// Check returns an error if a named step, or a step that it needs, does not exist.
func (g *Graph) Check(names ...string) error {
	_, err := g.order(names...)

	return err
}

// order returns the named steps and all that they need, in topological order.
func (g *Graph) order(names ...string) ([]Step, error) {
	const (
		visiting = 1
		visited  = 2
	)

	var (
		ordered []Step
		state   = map[string]int{}
		visit   func(name string, path []string) error
	)

	visit = func(name string, path []string) error {
		path = append(path, name)

		switch state[name] {
		case visited:
			return nil
		case visiting:
			return fmt.Errorf("steps need each other: %s", strings.Join(path, " → "))
		}

		step, ok := g.steps[name]
		if !ok {
			return fmt.Errorf("unknown step %q (needed by %s)", name, strings.Join(path, " → "))
		}

		state[name] = visiting

		for _, need := range step.Needs {
			if err := visit(need, path); err != nil {
				return err
			}
		}

		state[name] = visited
		ordered = append(ordered, step)

		return nil
	}

	for _, name := range names {
		if err := visit(name, nil); err != nil {
			return nil, err
		}
	}

	return ordered, nil
}
