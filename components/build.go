// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/components/graph"
	"github.com/seed-59268b81/talos/components/hosttools"
)

// Options of a build. The zero value builds the repository around the working directory into its out folder, quietly.
type Options struct {
	// Root is the repository.
	Root string
	// Out is the output folder.
	Out string
	// Locked refuses to build with packages of Debian that are not those of the lock.
	Locked bool
	// Uses are what else the machine's programs are needed for, besides the build and the lab.
	Uses []hosttools.Use
	// Log is told what is built. Terminal says that it is one.
	Log      io.Writer
	Terminal bool
	// Extend adds steps that need these, as those of the images, to the graph before it runs.
	Extend func(*graph.Graph)

	packages *packages
}

// aliases are targets that are not a step.
var aliases = map[string][]string{
	TargetAll: {
		TargetKernel, TargetBoot, TargetFirmware, TargetRootfs, TargetImages, "kubernetes", TargetTalos, TargetTalosctl,
	},
	TargetKubectl:   {"kubernetes"},
	TargetHostTools: {},
}

// complete fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Root == "" {
		root, err := FindRoot()
		if err != nil {
			return o, err
		}

		o.Root = root
	}

	if o.Out == "" {
		o.Out = filepath.Join(o.Root, "out")
	}

	if o.Log == nil {
		o.Log = io.Discard
	}

	var err error
	if o.Root, err = filepath.Abs(o.Root); err == nil {
		o.Out, err = filepath.Abs(o.Out)
	}

	if o.packages == nil {
		o.packages = &packages{root: o.Root, cache: filepath.Join(o.Out, "cache"), apt: "/etc/apt", strict: o.Locked}
	}

	return o, err
}

// EnsureTools installs programs that the machine lacks. Those of the lab belong to every build: who builds the images wants
// to start them, and would find out twenty minutes later.
func (o Options) EnsureTools(ctx context.Context) error {
	uses := append([]hosttools.Use{hosttools.Build, hosttools.Lab}, o.Uses...)
	if err := hosttools.Ensure(ctx, o.Log, uses...); err != nil {
		return fmt.Errorf("prepare this machine: %w", err)
	}

	return nil
}

// FindRoot goes up from the working directory to the folder with our go.mod.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}

	for ; ; dir = filepath.Dir(dir) {
		raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(raw), "module github.com/seed-59268b81/talos\n") {
			return dir, nil
		}

		if dir == filepath.Dir(dir) {
			return "", errors.New("run this inside the repository: there is no go.mod of github.com/seed-59268b81/talos here or above")
		}
	}
}

// NewGraph returns the graph of all steps, for a program that adds steps of its own that need these.
func NewGraph(o Options) (*graph.Graph, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}

	cache := filepath.Join(o.Out, "cache")
	g := graph.New(filepath.Join(cache, "steps"), o.Out)
	g.Slots = runtime.NumCPU()

	for _, m := range modules() {
		g.Add(m.step(o.Root))
	}

	for _, s := range slices.Concat(sets, testSets) {
		g.Add(s.step(o.packages))
	}

	imageSteps, err := imageSteps(o.Root)
	if err != nil {
		return nil, err
	}

	for _, s := range slices.Concat(imageSteps, conformanceSteps(o.Root)) {
		g.Add(s)
	}

	g.Add(pauseStep(o.Root))
	g.Add(registryStep(o.Root))
	g.Add(testFilesStep(o.Root))
	g.Add(rootfsStep(o.Root))

	for name := range ownPrograms {
		g.Add(ownStep(o.Root, name))
	}

	return g, nil
}

// Build brings the targets, or everything if none is named, up to date and returns where the results are. It first
// installs programs that the machine lacks.
func Build(ctx context.Context, o Options, targets ...string) (Paths, error) {
	o, err := o.complete()
	if err != nil {
		return Paths{}, err
	}

	if err := o.EnsureTools(ctx); err != nil {
		return Paths{}, err
	}

	if err := hosttools.Refresh(ctx, o.Log); err != nil {
		return Paths{}, err
	}

	steps := Expand(targets)
	if len(steps) == 0 { // only the programs were asked for
		return Paths{Out: o.Out}, nil
	}

	g, err := NewGraph(o)
	if err != nil {
		return Paths{}, err
	}

	if o.Extend != nil {
		o.Extend(g)
	}

	console := graph.NewConsole(o.Log, o.Terminal)
	_, err = g.Run(ctx, console, steps...)
	console.Close()

	return Paths{Out: o.Out}, errors.Join(err, o.packages.report(o.Out, o.Log))
}

// Expand turns targets into names of steps; none stands for all.
func Expand(targets []string) []string {
	if len(targets) == 0 {
		targets = []string{TargetAll}
	}

	var steps []string

	for _, t := range targets {
		if names, ok := aliases[t]; ok {
			steps = append(steps, names...)
		} else {
			steps = append(steps, t)
		}
	}

	slices.Sort(steps)

	return slices.Compact(steps)
}
