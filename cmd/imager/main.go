// SPDX-License-Identifier: Apache-2.0

// Command imager makes the bootable images; see package imager.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/seed-59268b81/talos/components"
	"github.com/seed-59268b81/talos/imager"
)

const usage = `usage: imager [flags] disk | uki | initramfs | kernel | root | sizes

  disk       the disk image, and everything in it (the default)
  uki        the unified kernel image
  initramfs  the initramfs, and the kernel beside it
  kernel     the same
  root       the root image
  sizes      print the sizes of the images that were made, and what is in the root

`

// targets by the word that asks for them.
var targets = map[string]string{
	"disk": imager.TargetDisk, "uki": imager.TargetUKI, "initramfs": imager.TargetInitramfs,
	"kernel": imager.TargetInitramfs, "root": imager.TargetRoot,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "imager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	var (
		c     = components.Options{Log: out}
		o     imager.Options
		extra string
		flags = flag.NewFlagSet("imager", flag.ContinueOnError)
	)

	flags.SetOutput(diagnostics)
	flags.StringVar(&c.Out, "out", "", "output `folder` (default: out in the repository)")
	flags.StringVar(&extra, "extra-kernel-args", "", "`arguments` to put behind the default ones")
	flags.Usage = func() {
		fmt.Fprint(diagnostics, usage)
		flags.PrintDefaults()
	}

	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}

	what := "disk"
	if flags.NArg() > 0 {
		what = flags.Arg(0)
	}

	o.ExtraArgs = strings.Fields(extra)

	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			c.Terminal = info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
		}
	}

	if what == "sizes" {
		paths, err := imager.Locate(c, o)
		if err != nil {
			return err
		}

		return imager.PrintSizes(out, paths)
	}

	target, ok := targets[what]
	if !ok {
		flags.Usage()

		return fmt.Errorf("unknown image %q", what)
	}

	_, err := imager.Build(ctx, c, o, target)

	return err
}
