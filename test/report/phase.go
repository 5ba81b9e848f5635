// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/test/host"
)

// phase is a command that is part of the run besides the tests.
type phase struct{ name, command string }

// timed records how long a part of the run takes.
func (r *runner) timed(name string, do func() error) error {
	start := r.since()
	defer func() { r.spent.phases = append(r.spent.phases, item{name, r.since() - start}) }()

	return do()
}

// command runs a phase and reports whether it succeeded. Its output is shown as it is.
func (r *runner) command(ctx context.Context, p phase) bool {
	err := r.timed(p.name, func() error {
		cmd := exec.CommandContext(ctx, "sh", "-c", p.command)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		// The command cleans up when it is interrupted, not when it is killed. Ctrl-C reaches it anyway. Other signals are sent
		// to all descendants, since sh and go run do not forward them. A process group of its own does not help: it could not
		// ask for a password.
		cmd.Cancel = func() error { return host.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = time.Minute

		return cmd.Run()
	})

	if err != nil {
		r.fail(p.name, "%s: %s: %v", p.name, p.command, err)
	}

	return err == nil
}

// patience is how long stopped processes may take to end.
const patience = 10 * time.Second

// watchHost takes a snapshot of the host, and returns a function that compares the host with it.
func (r *runner) watchHost(ctx context.Context) (compare func(), err error) {
	if err := host.Adopt(ctx); err != nil {
		return nil, err
	}

	before, err := host.Take(ctx)
	if err != nil {
		return nil, err
	}

	return func() {
		// An interrupted run is compared too: its tests clean up.
		r.hostIs(host.Settle(context.WithoutCancel(ctx), before, patience))
	}, nil
}

// hostIs reports the changes of the host.
func (t *tally) hostIs(different []string, err error) {
	switch {
	case err != nil:
		t.fail("host", "compare the host with how it was: %v", err)
	case len(different) == 0:
		t.say("ok    the host is as it was before")
	default:
		t.fail("host", "the host is not as it was before:")

		for _, line := range different {
			fmt.Fprintln(t.out, "        "+line)
		}
	}
}
