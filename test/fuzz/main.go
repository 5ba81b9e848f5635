// SPDX-License-Identifier: Apache-2.0

// Command fuzz runs the fuzz targets of packages, one after another. It prints a line for each target, one each minute while a target
// runs, the output of a target that fails, and at the end
//
//	117 targets: 0 failed, 0 skipped
//
// It fails if a target does. The input that made a target fail is a file below testdata/fuzz of the package, where go test finds it
// from then on.
//
//	go run ./test/fuzz -time 10m -run FuzzDecode ./config/...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize/english"
)

func main() {
	each := flag.String("time", "10s", "how long each target runs, or its number of executions, such as 1000x")
	run := flag.String("run", "", "run the targets whose names match this `expression`")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	if err := fuzz(ctx, os.Stdout, *each, *run, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		stop()
		os.Exit(1)
	}
}

// fuzz runs the targets of packages that an expression matches, each for a time.
func fuzz(ctx context.Context, out io.Writer, each, expression string, patterns []string) error {
	wanted, err := regexp.Compile(expression)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}

	all, err := targets(ctx, wanted, patterns)
	if err != nil {
		return err
	}

	if len(all) == 0 {
		return errors.New("no target matches")
	}

	var failed []string

	skipped := 0

	for i, t := range all {
		fmt.Fprintf(out, "[%d/%d] %s\n", i+1, len(all), t)

		r, err := t.run(ctx, each, func(p progress) { fmt.Fprintf(out, "      %s\n", p) })

		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case r.failed:
			failed = append(failed, t.String())
			fmt.Fprintf(out, "FAIL  %s after %s\n%s", t, r.progress, r.output)
		case r.executions == 0:
			skipped++

			fmt.Fprintf(out, "skip  it executed nothing\n")
		default:
			fmt.Fprintf(out, "ok    %s\n", r.progress)
		}
	}

	fmt.Fprintf(out, "\n%s: %d failed, %d skipped\n", english.Plural(len(all), "target", ""), len(failed), skipped)

	if len(failed) > 0 {
		return fmt.Errorf("these targets failed: %s", strings.Join(failed, ", "))
	}

	return nil
}

// progressEvery is how often the progress of a target is printed.
const progressEvery = time.Minute
