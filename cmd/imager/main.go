// SPDX-License-Identifier: Apache-2.0

// Imager makes an image of the system for a purpose, from the results of make build; see package build/imager and docs/images.md.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/imager"
)

const usage = `usage: imager [flags] PROFILE

Make an image of the system from the results of make build. PROFILE is a name, or - for a profile in YAML on the standard input:

%s
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "imager:", err)
		os.Exit(1)
	}
}

// options are the flags that are not a part of the profile.
type options struct {
	input, output, key string
	print              bool
}

func run(ctx context.Context, args []string, in io.Reader, out, diagnostics io.Writer) error {
	var (
		o                  options
		set                imager.Profile
		config, size       string
		kind, format, pack string
		values             []string
		flags              = pflag.NewFlagSet("imager", pflag.ContinueOnError)
	)

	flags.SetOutput(diagnostics)
	flags.SortFlags = false
	flags.StringVar(&set.Arch, "arch", "", "`architecture` of the machine: amd64")
	flags.StringVar(&set.Platform, "platform", "", "`platform` of the machine, such as metal or aws (default: that of the profile)")
	flags.StringArrayVar(&set.Customization.KernelArgs, "extra-kernel-arg", nil, "append an `argument` to the kernel's; can be repeated")
	flags.StringVar(&config, "embedded-config-path", "", "`file` with a machine configuration to put into the image")
	flags.StringArrayVar(&values, "meta", nil, "set a value of META, as `key=value`: 0xa=…; can be repeated")
	flags.StringVar(&kind, "output-kind", "", "`kind` of output: image, iso, installer, uki, kernel, initramfs, cmdline or pxe")
	flags.StringVar(&format, "disk-format", "", "`format` of a disk image: raw, qcow2 or vhd")
	flags.StringVar(&pack, "packing", "", "how a disk image is `packed`: raw (not at all), .zst, .gz or .tar.gz")
	flags.StringVar(&size, "image-disk-size", "", "`size` of a disk image, such as 8GiB (default: that of the profile, or as small as possible)")
	flags.BoolVar(&set.Output.Disk.NoImageCache, "no-image-cache", false, "leave the container images out of a disk image")
	flags.BoolVar(&set.Output.Disk.ImageCache, "image-cache", false, "add the container images to a CD")
	flags.StringVar(&o.input, "input", "", "output `folder` of the build (default: out in the repository)")
	flags.StringVarP(&o.output, "output", "o", "", "`folder` to write to (default: imager in the folder of the build)")
	flags.StringVar(&o.key, "sign-key", "", "sign with the private key in this `file`; the environment variable COSIGN_PASSWORD has its password")
	flags.BoolVar(&o.print, "print", false, "print the profile in YAML and exit")
	flags.Usage = func() {
		fmt.Fprintf(diagnostics, usage, list(imager.Names()))
		flags.PrintDefaults()
	}

	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}

	if flags.NArg() != 1 {
		return fmt.Errorf("want one profile, got %d: choose one of %s", flags.NArg(), strings.Join(imager.Names(), ", "))
	}

	set.Output.Kind, set.Output.Disk.Format, set.Output.Packing = imager.Kind(kind), imager.DiskFormat(format), imager.Packing(pack)

	if err := readFlags(&set, config, size, values); err != nil {
		return err
	}

	p, err := profile(flags.Arg(0), in, set)
	if err != nil {
		return err
	}

	if o.print {
		return p.Write(out)
	}

	return makeImages(ctx, p, o, out, diagnostics)
}

// readFlags takes those flags into a profile that have a form of their own.
func readFlags(p *imager.Profile, config, size string, values []string) error {
	if config != "" {
		text, err := os.ReadFile(config)
		if err != nil {
			return fmt.Errorf("embedded configuration: %w", err)
		}

		if p.Customization.Config = string(text); len(text) == 0 {
			return fmt.Errorf("embedded configuration: %s is empty", config)
		}
	}

	if size != "" {
		bytes, err := parseSize(size)
		if err != nil {
			return err
		}

		p.Output.Disk.Size = bytes
	}

	for _, v := range values {
		key, value, found := strings.Cut(v, "=")

		number, err := strconv.ParseUint(key, 0, 8)
		if !found || err != nil {
			return fmt.Errorf("value of META %q: want key=value, and a key from 0x06 to 0x7f", v)
		}

		p.Customization.Meta = append(p.Customization.Meta, imager.MetaValue{Key: uint8(number), Value: value})
	}

	return nil
}

// profile returns the profile of a name or of the standard input, changed by flags.
func profile(name string, in io.Reader, set imager.Profile) (imager.Profile, error) {
	if name != "-" {
		set.Base = name

		return set.Complete()
	}

	p, err := imager.Read(in)
	if err != nil {
		return p, err
	}

	return p.With(set).Complete()
}

func makeImages(ctx context.Context, p imager.Profile, o options, out, diagnostics io.Writer) error {
	paths := artifact.Paths{Out: o.input}

	if o.input == "" {
		var err error
		if paths, err = artifact.Find(); err != nil {
			return fmt.Errorf("%w, or name the output folder of a build with --input", err)
		}
	}

	if o.output == "" {
		o.output = filepath.Join(paths.Out, "imager")
	}

	built := imager.Built(paths)

	if o.key != "" {
		text, err := os.ReadFile(o.key)
		if err != nil {
			return fmt.Errorf("key for signatures: %w", err)
		}

		if built.Key, err = imager.ReadKey(text, os.Getenv("COSIGN_PASSWORD")); err != nil {
			return fmt.Errorf("key for signatures: %s: %w", o.key, err)
		}
	}

	files, err := imager.Make(ctx, p, built, o.output)
	if err != nil {
		return err
	}

	for _, file := range files {
		if err := describe(out, file); err != nil {
			return err
		}
	}

	warnings, err := imager.Warnings(p, built)

	for _, warning := range warnings {
		fmt.Fprintln(diagnostics, "warning:", warning)
	}

	return err
}

// describe prints a file with its size and digest.
func describe(out io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()

	h := sha256.New()

	n, err := io.Copy(h, f)
	if err != nil {
		return err
	}

	_, err = fmt.Fprintf(out, "%x  %s (%.1f MB)\n", h.Sum(nil), file, float64(n)/1e6)

	return err
}

// units are those of sizes.
var units = []struct {
	name  string
	bytes uint64
}{{"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}

func parseSize(text string) (uint64, error) {
	for _, u := range units {
		number, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}

		n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 20)
		if err == nil && n > 0 {
			return n * u.bytes, nil
		}
	}

	return 0, fmt.Errorf("size %q: want a number and a unit, such as 8192MiB or 8GiB", text)
}

// list returns names as lines of a few.
func list(names []string) string {
	var b strings.Builder

	for i, name := range names {
		if i%6 == 0 {
			b.WriteString("\n  ")
		}

		fmt.Fprintf(&b, "%-15s", name)
	}

	return strings.TrimPrefix(b.String(), "\n") + "\n"
}
