// SPDX-License-Identifier: Apache-2.0

// Command build makes third-party and our own programs, container images and the bootable images; see package build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-59268b81/talos/build"
	"github.com/seed-59268b81/talos/build/hosttools"
	"github.com/seed-59268b81/talos/build/image"
)

const usage = `usage: build [flags] [target ...]

Without a target it makes all. Some are:

  disk-image   the disk image, and everything in it
  uki          the unified kernel image
  initramfs    the initramfs, and the kernel beside it
  root-image   the root image
  talosctl     the client

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	var (
		o                 = build.Options{Log: out}
		list, sizes, lock bool
		flags             = flag.NewFlagSet("build", flag.ContinueOnError)
	)

	flags.SetOutput(diagnostics)
	flags.BoolVar(&list, "list", false, "print the targets, and exit")
	flags.BoolVar(&sizes, "sizes", false, "print the sizes of the images that were made and what is in the root image, and exit")
	flags.BoolVar(&lock, "lock", false, "take the newest packages of Debian into build/debian.lock, and exit")
	flags.BoolVar(&o.Locked, "locked", false, "refuse packages of Debian that are not those of build/debian.lock")
	flags.StringVar(&o.Out, "out", "", "output `folder` (default: out in the repository)")
	flags.Func("tools", "install the programs for `use` too, besides those of the build and the lab: test, fresh", func(use string) error {
		if !slices.Contains(hosttools.Uses, hosttools.Use(use)) {
			return fmt.Errorf("it is none of %v", hosttools.Uses)
		}

		o.Uses = append(o.Uses, hosttools.Use(use))

		return nil
	})
	flags.Func("extra-kernel-args", "`arguments` to put behind the default ones", func(extra string) error {
		o.ExtraArgs = strings.Fields(extra)

		return nil
	})
	flags.Usage = func() {
		fmt.Fprint(diagnostics, usage)
		flags.PrintDefaults()
	}

	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}

	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			o.Terminal = info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
		}
	}

	switch {
	case list:
		return printTargets(out, o)
	case sizes:
		paths, err := o.Paths()
		if err != nil {
			return err
		}

		return image.PrintSizes(out, paths)
	case lock:
		return build.WriteLock(ctx, o)
	}

	_, err := build.Build(ctx, o, flags.Args()...)

	return err
}

func printTargets(out io.Writer, o build.Options) error {
	g, err := build.NewGraph(o)
	if err != nil {
		return err
	}

	for _, s := range g.Steps() {
		fmt.Fprintf(out, "%-30s %s\n", s.Name, s.About)
	}

	return nil
}
