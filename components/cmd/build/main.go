// SPDX-License-Identifier: Apache-2.0

// Build makes the third-party parts of the system, our own programs and the bootable images; see packages components
// and imager.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/seed-59268b81/talos/components"
	"github.com/seed-59268b81/talos/components/graph"
	"github.com/seed-59268b81/talos/components/hosttools"
	"github.com/seed-59268b81/talos/imager"
)

func main() {
	var (
		list = flag.Bool("list", false, "print the targets and exit")
		o    = components.Options{
			Log:    os.Stdout,
			Extend: func(g *graph.Graph) { imager.AddSteps(g, imager.Options{}) },
		}
	)

	flag.StringVar(&o.Out, "out", "", "output `folder` (default: out in the repository)")
	flag.Func("tools", "install the programs for `use` too, besides those of the build and the lab: test, fresh", func(use string) error {
		if !slices.Contains(hosttools.Uses, hosttools.Use(use)) {
			return fmt.Errorf("it is none of %v", hosttools.Uses)
		}

		o.Uses = append(o.Uses, hosttools.Use(use))

		return nil
	})
	flag.BoolVar(&o.Locked, "locked", false, "refuse packages of Debian that are not those of components/debian.lock")
	lock := flag.Bool("lock", false, "take the newest packages of Debian into components/debian.lock, and exit")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: build [flags] [target ...]")
		flag.PrintDefaults()
	}
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if info, err := os.Stdout.Stat(); err == nil {
		o.Terminal = info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}

	do := func() error { return run(ctx, o, *list, flag.Args()) }
	if *lock {
		do = func() error { return components.WriteLock(ctx, o) }
	}

	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o components.Options, list bool, targets []string) error {
	if len(targets) == 0 {
		targets = []string{components.TargetAll, imager.TargetDisk}
	}

	if !list {
		_, err := components.Build(ctx, o, targets...)

		return err
	}

	g, err := components.NewGraph(o)
	if err != nil {
		return err
	}

	o.Extend(g)

	for _, s := range g.Steps() {
		fmt.Printf("%-30s %s\n", s.Name, s.About)
	}

	return nil
}
