// SPDX-License-Identifier: Apache-2.0

// Command report runs go test and reports while it runs: a line for each package with the time since the start, the output
// of a failed test as soon as it has failed, why tests were skipped, where the time went, and at the end
//
//	1234 passed, 0 failed, 5 skipped
//
// Tests and subtests count alike. A package that does not build, or that ends outside of a test, is a failure of its own.
// Packages named by -alone, which take minutes and the whole machine, run after all others, one by one, and are shown line
// by line. The command of -build runs first, and if it fails nothing else runs. The commands of each -phase run next; one
// that fails counts as a failure.
//
// With -within, a package gets at most the time that is left of the whole run, which its tests learn by their deadline: long
// ones skip what does not fit on a slow computer.
//
// With -host, a change that remains on this machine is a failure too, see package host.
//
//	go run ./test/report -host -build 'make build' -phase 'vet=go vet ./...' -alone test/e2e -timeout 50m ./...
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	alone := flag.String("alone", "", "run packages whose path contains one of these, separated by commas, after the others, and show them line by line")
	timeout := flag.Duration("timeout", 10*time.Minute, "the time limit of one package")
	within := flag.Duration("within", 0, "the time limit of the whole run; 0 is none")
	race := flag.Bool("race", false, "look for data races")
	build := flag.String("build", "", "run this `command` first, and nothing else when it fails")
	hold := flag.Bool("host", false, "fail when the run changes processes, mounts, addresses or other state of this machine")

	var phases []phase

	flag.Func("phase", "run `name=command` before the tests; may be given several times", func(text string) error {
		name, command, ok := strings.Cut(text, "=")
		if !ok || name == "" || command == "" {
			return errors.New("it is not name=command")
		}

		phases = append(phases, phase{name, command})

		return nil
	})
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	r := &runner{
		tally: newTally(os.Stdout), alone: *alone, timeout: *timeout, within: *within, race: *race,
		build: *build, phases: phases, hold: *hold,
	}

	err := r.run(ctx, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
	}

	if err != nil || r.failed > 0 {
		stop()
		os.Exit(1)
	}
}

// runner runs go test, and tallies.
type runner struct {
	*tally

	alone           string
	timeout, within time.Duration
	race            bool
	build           string
	phases          []phase
	hold            bool
}

func (r *runner) run(ctx context.Context, patterns []string) (err error) {
	defer r.finish()

	if r.hold {
		compare, err := r.watchHost(ctx)
		if err != nil {
			return err
		}

		defer compare()
	}

	if r.build != "" && !r.command(ctx, phase{"build", r.build}) {
		return ctx.Err()
	}

	for _, p := range r.phases {
		r.command(ctx, p)
	}

	together, alone, err := packages(ctx, r.alone, patterns)
	if err != nil {
		return err
	}

	if err := r.timed("tests", func() error { return r.test(ctx, together) }); err != nil {
		return err
	}

	for _, pkg := range alone {
		r.live = pkg

		// A cached result is not used: these packages depend on more than their sources.
		if err := r.timed(short(pkg), func() error { return r.test(ctx, []string{"-count=1", pkg}) }); err != nil {
			return err
		}
	}

	return nil
}

// packages lists the packages of the patterns, without those below out, in two parts.
func packages(ctx context.Context, alone string, patterns []string) (together, single []string, err error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list"}, patterns...)...)
	list.Stderr = os.Stderr

	out, err := list.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list the packages: %w", err)
	}

	for _, pkg := range strings.Fields(string(out)) {
		switch {
		case strings.HasPrefix(short(pkg), "out/"): // built files
		case apart(pkg, alone):
			single = append(single, pkg)
		default:
			together = append(together, pkg)
		}
	}

	return together, single, nil
}

// apart reports whether a package's path contains one of the parts, which commas separate.
func apart(pkg, parts string) bool {
	return slices.ContainsFunc(strings.Split(parts, ","), func(part string) bool { return part != "" && strings.Contains(pkg, part) })
}

// flags returns the flags of a go test that starts now.
func (r *runner) flags() []string {
	timeout := r.timeout

	if r.within > 0 {
		timeout = min(timeout, max(r.within-r.since(), time.Second)) // go test takes 0 for no limit
	}

	flags := []string{"-timeout=" + timeout.String()}
	if r.race {
		flags = append(flags, "-race")
	}

	return flags
}

// test runs go test once. Its own errors, such as bad flags, go to stderr.
func (r *runner) test(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return nil
	}

	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json"}, r.flags(), args)...)
	cmd.Stderr = os.Stderr
	// Tests clean up when they are interrupted, not when they are killed. go test does not forward signals, so the whole
	// process group gets them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute

	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}

	before := r.failed
	readErr := r.read(pipe)
	testErr := cmd.Wait()

	r.ends(testErr != nil, before)

	if ctx.Err() != nil {
		return ctx.Err()
	}

	return readErr
}

// read takes the events of go test -json.
func (t *tally) read(r io.Reader) error {
	for lines := bufio.NewReaderSize(r, 1<<20); ; {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event

			// A line that is not an event is shown as it is.
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(t.out, line)
			} else {
				t.event(e)
			}
		}

		if err == io.EOF { // not wrapped
			return nil
		}

		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func short(pkg string) string {
	_, inside, ok := strings.Cut(pkg, "github.com/seed-59268b81/talos/")
	if !ok {
		return pkg
	}

	return inside
}
