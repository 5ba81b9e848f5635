// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/containerimage"
	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/fileset"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/hosttools"
	"github.com/seed-59268b81/talos/build/image"
	"github.com/seed-59268b81/talos/build/program"
	"github.com/seed-59268b81/talos/version"
)

// Options are the options of a build. With the zero value it builds the repository around the working directory into its folder
// out, without output.
type Options struct {
	// Root is the repository.
	Root string
	// Out is the output folder.
	Out string
	// Locked fails the build if it cannot use the Debian packages of the lock.
	Locked bool
	// Uses are the uses of host programs to install, besides the build and the lab.
	Uses []hosttools.Use
	// Log receives the progress. Terminal means that Log is a terminal.
	Log      io.Writer
	Terminal bool
	// ExtraArgs follow the default kernel arguments.
	ExtraArgs []string
	// Version is that of the system, version.Tag by default.
	Version string
	// Flavour is that of the kernel, fileset.Cloud by default.
	Flavour fileset.Flavour
	// Cache is the folder of the cache, which builds of several versions share; by default it is in Out.
	Cache string

	packages *fileset.Packages
}

// aliases are targets that are not a step.
var aliases = map[string][]string{
	artifact.TargetAll: {
		artifact.TargetKernel, artifact.TargetBoot, artifact.TargetGRUB, artifact.TargetFirmware, artifact.TargetRootfs, artifact.TargetImages,
		"kubernetes", "cloud", artifact.TargetTalos, artifact.TargetTalosctl, artifact.TargetImager,
		artifact.TargetDisk, artifact.TargetInstaller,
	},
	artifact.TargetKubectl:   {"kubernetes"},
	artifact.TargetHostTools: {},
}

// complete sets the defaults.
func (o Options) complete() (Options, error) {
	if o.Root == "" {
		root, err := artifact.FindRoot()
		if err != nil {
			return o, err
		}

		o.Root = root
	}

	o.Out = cmp.Or(o.Out, artifact.Of(o.Root).Out)
	o.Cache = cmp.Or(o.Cache, artifact.Paths{Out: o.Out}.Cache())
	o.Version = cmp.Or(o.Version, version.Tag)
	o.Flavour = cmp.Or(o.Flavour, fileset.Cloud)

	if o.Log == nil {
		o.Log = io.Discard
	}

	var err error
	if o.Root, err = filepath.Abs(o.Root); err == nil {
		o.Out, err = filepath.Abs(o.Out)
	}

	if err == nil {
		o.Cache, err = filepath.Abs(o.Cache)
	}

	if o.packages == nil {
		o.packages = &fileset.Packages{Root: o.Root, Cache: o.Cache, Apt: "/etc/apt", Strict: o.Locked, Flavour: o.Flavour}
	}

	return o, err
}

// Paths returns the paths of the results.
func (o Options) Paths() (artifact.Paths, error) {
	o, err := o.complete()

	return artifact.Paths{Out: o.Out}, err
}

// ensureTools installs missing programs on the host. Every build installs those of the lab too: users build images to start
// them, and should not find out after twenty minutes that a program is missing.
func (o Options) ensureTools(ctx context.Context) error {
	uses := append([]hosttools.Use{hosttools.Build, hosttools.Lab}, o.Uses...)
	if err := hosttools.Ensure(ctx, o.Log, uses...); err != nil {
		return fmt.Errorf("install host programs: %w", err)
	}

	return nil
}

// NewGraph returns the graph of all steps.
func NewGraph(o Options) (*graph.Graph, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}

	g := graph.New(filepath.Join(o.Cache, "steps"), o.Out)
	g.Slots = runtime.NumCPU()

	images := image.Options{Root: o.Root, ExtraArgs: o.ExtraArgs, Version: o.Version, Debian: o.debian}
	if o.Flavour == fileset.Full {
		images.Drivers = image.ServerDrivers
	}

	for _, s := range slices.Concat(
		program.Steps(o.Root, o.Version), fileset.Steps(o.packages), containerimage.Steps(o.Root), []graph.Step{rootfsStep(o.Root)},
		image.Steps(images),
	) {
		g.Add(s)
	}

	return g, nil
}

// debian returns the packages of Debian in the images.
func (o Options) debian(ctx context.Context) ([]debian.Package, error) {
	return o.packages.Of(ctx, append([]string{artifact.TargetKernel, artifact.TargetBoot}, rootfsSets...)...)
}

// WriteLock updates the lock to the newest Debian packages.
func WriteLock(ctx context.Context, o Options) error {
	o, err := o.complete()
	if err != nil {
		return err
	}

	return fileset.WriteLock(ctx, o.Root, o.Log)
}

// Build builds the targets, or everything if none is named, and returns the paths of the results. It first installs
// missing programs on the host.
func Build(ctx context.Context, o Options, targets ...string) (artifact.Paths, error) {
	o, err := o.complete()
	if err != nil {
		return artifact.Paths{}, err
	}

	g, err := NewGraph(o)
	if err != nil {
		return artifact.Paths{}, err
	}

	steps := Expand(targets)
	if err := g.Check(steps...); err != nil {
		return artifact.Paths{}, err
	}

	if err := o.ensureTools(ctx); err != nil {
		return artifact.Paths{}, err
	}

	if err := hosttools.Refresh(ctx, o.Log); err != nil {
		return artifact.Paths{}, err
	}

	if len(steps) > 0 { // otherwise the target is only the host programs
		console := graph.NewConsole(o.Log, o.Terminal)
		err = g.Run(ctx, console, steps...)
		console.Close()

		err = errors.Join(err, o.packages.Report(o.Out, o.Log))
	}

	return artifact.Paths{Out: o.Out}, err
}

// Expand returns the names of the targets' steps. No target means all.
func Expand(targets []string) []string {
	if len(targets) == 0 {
		targets = []string{artifact.TargetAll}
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
