// SPDX-License-Identifier: Apache-2.0

// Package graph runs a graph of build steps with a cache addressed by content.
//
// A step writes its result into an empty folder. The result is kept under a key: the hash of the step's name, its
// declared inputs and the digests of the results it needs. A step whose key is in the cache does not run. Because the
// key holds the digests of results, and not the keys of the steps that made them, a step that ran and gave the same
// bytes as before does not make the steps after it run.
//
// A result is published by linking its files (hard links) to where people and programs expect them, so a build with a
// warm cache moves no data. It follows that a published file must not be written in place; replace it.
//
// # Use
//
//	g := graph.New(cacheDir, outDir)
//	g.Add(graph.Step{Name: "hello", Inputs: ..., Run: ..., Publish: map[string]string{"hello": "bin/hello"}})
//	err := g.Run(ctx, reporter, "hello")
//
// # Limits
//
// What a step reads without declaring it is not seen: a step that calls a compiler must put the compiler's version in
// its inputs. Only regular files, folders and symbolic links are results. One process at a time works on one cache; a
// second one waits for the first.
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
	// Name is unique in the graph and is a file name.
	Name string
	// About says in a few words what is made, for people.
	About string
	// Needs are the names of the steps whose results this one reads.
	Needs []string
	// Inputs returns everything besides the results of Needs that decides the result. It is called after those are
	// there, each time, so it must be quick. A nil Inputs stands for none.
	Inputs func(ctx context.Context, needs Results) ([]string, error)
	// Heavy steps keep all processors busy by themselves, so only a few of them run at once.
	Heavy bool
	// Run makes the result.
	Run func(ctx context.Context, w *Work) error
	// Publish maps a path within the result to a path within the output folder. "." is the whole result. A published
	// folder belongs to the step: what else is in it is removed.
	Publish map[string]string
}

// Work is what a running step is given.
type Work struct {
	// Dir is the empty folder for the result.
	Dir string
	// Needs are the results of the steps needed.
	Needs Results
	// Progress says what the step does now. It replaces what was said before.
	Progress func(format string, args ...any)
}

// Result is a finished step's result in the cache.
type Result struct {
	// Dir holds the result's files. It is read-only to everyone.
	Dir string
	// Digest is the hash of the names, kinds and contents of the files.
	Digest string
}

// Results are results by step name.
type Results map[string]Result

// Graph is a set of steps.
type Graph struct {
	cache string
	out   string
	steps map[string]Step
	// Slots is how many heavy steps run at once.
	Slots int
}

// New returns an empty graph with its cache and output folder.
func New(cache, out string) *Graph {
	return &Graph{cache: cache, out: out, steps: map[string]Step{}, Slots: 1}
}

// Add adds a step. Adding two steps of one name is a mistake in the program and panics.
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

// Check reports whether the named steps, and everything they need, are there.
func (g *Graph) Check(names ...string) error {
	_, err := g.order(names...)

	return err
}

// order returns the named steps and everything they need, each after what it needs.
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
			return fmt.Errorf("steps need each other in a circle: %s", strings.Join(path, " → "))
		}

		step, ok := g.steps[name]
		if !ok {
			return fmt.Errorf("unknown step %q (asked for by %s)", name, strings.Join(path, " → "))
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
