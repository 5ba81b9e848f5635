// SPDX-License-Identifier: Apache-2.0

// Command build builds third-party programs and our own, container images and the bootable images; see package build.
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
	"github.com/seed-59268b81/talos/build/fileset"
	"github.com/seed-59268b81/talos/build/hosttools"
	"github.com/seed-59268b81/talos/build/image"
)

const usage = `usage: build [flags] [target ...]

Without a target it builds everything. Some targets are:

  disk-image       the disk image and everything in it
  installer-image  what machines upgrade to, as an archive for talosctl image import
  uki              the unified kernel image
  initramfs        the initramfs and the kernel
  root-image       the root image
  talosctl         the client
  imager           makes images for a purpose

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
	flags.BoolVar(&list, "list", false, "print the targets and exit")
	flags.BoolVar(&sizes, "sizes", false, "print the sizes of the images and of files in the root image, and exit")
	flags.BoolVar(&lock, "lock", false, "update build/debian.lock to the newest Debian packages and exit")
	flags.BoolVar(&o.Locked, "locked", false, "reject Debian packages that are not in build/debian.lock")
	flags.StringVar(&o.Out, "out", "", "output `folder` (default: out in the repository)")
	flags.StringVar(&o.Cache, "cache", "", "cache `folder` (default: cache in the output folder)")
	flags.StringVar(&o.Version, "version", "", "`version` of the system, such as v1.2.3 (default: the source's)")
	flags.Func("tools", "also install the host programs for `use` (test or fresh), besides those for the build and the lab", func(use string) error {
		if !slices.Contains(hosttools.Uses, hosttools.Use(use)) {
			return fmt.Errorf("want one of %v", hosttools.Uses)
		}

		o.Uses = append(o.Uses, hosttools.Use(use))

		return nil
	})
	flags.Func("flavour", "`kernel` of the images: cloud (virtual machines, the default) or full (servers too); use another -out", func(f string) error {
		if o.Flavour = fileset.Flavour(f); !slices.Contains(fileset.Flavours, o.Flavour) {
			return fmt.Errorf("want one of %v", fileset.Flavours)
		}

		return nil
	})
	flags.Func("extra-kernel-args", "append kernel `arguments` to the default ones", func(extra string) error {
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
