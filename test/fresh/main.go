// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command fresh checks that the commands of README work on a machine with nothing but Debian 12, make, git and Go. It
// creates such a machine from debootstrap's smallest Debian, in mount and process namespaces of its own, puts a clone of
// HEAD there, and runs make up to a Ready node and make down.
//
// The machine uses the host's network, its Go, and its caches (built files, Go's modules and compiled packages). The caches
// are overlays, so that nothing changes them. The test is about what the build needs of the machine, not about an hour of
// compiling; with empty caches it takes as long as a first build.
//
// When this program ends, in any way, the namespaces end with all processes and mounts in them. The folder (out/fresh) and
// the cgroups of containers are removed at the end, or at the beginning of the next run.
//
//	go run ./test/fresh                      to a Ready node
//	go run ./test/fresh -until machines-on   until the machines are on and in maintenance
//	go run ./test/fresh -in containers       in a container, which takes a minute where machines are emulated
//
// A container would do as well, but needs a container engine: one more program that not every machine has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/lab/state"
)

// How far make up goes.
const (
	untilReady      = "ready"
	untilMachinesOn = "machines-on"
)

// What the nodes are.
const (
	inMachines   = "machines"
	inContainers = "containers"
)

func main() {
	// The same program is process 1 of the fresh machine.
	if len(os.Args) == 3 && os.Args[1] == insideArgument {
		if err := inside(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "fresh:", err)
			os.Exit(1)
		}

		return
	}

	until := flag.String("until", untilReady, "how far to go: ready or machines-on")
	in := flag.String("in", inMachines, "what the nodes are: machines or containers, as in make up")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()

	if err := run(ctx, *until, *in); err != nil {
		fmt.Fprintln(os.Stderr, "fresh:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, until, in string) (err error) {
	if until != untilReady && until != untilMachinesOn {
		return fmt.Errorf("-until %s: it is neither %s nor %s", until, untilReady, untilMachinesOn)
	}

	if in != inMachines && in != inContainers {
		return fmt.Errorf("-in %s: it is neither %s nor %s", in, inMachines, inContainers)
	}

	if os.Geteuid() != 0 {
		return errors.New("only root can create and enter the root file system of another machine: run this as root")
	}

	root, err := artifact.FindRoot()
	if err != nil {
		return err
	}

	if err := os.MkdirAll(artifact.Of(root).Out, 0o755); err != nil {
		return err
	}

	// out may be a link.
	out, err := filepath.EvalSymlinks(artifact.Of(root).Out)
	if err != nil {
		return err
	}

	place, bases := filepath.Join(out, "fresh"), filepath.Join(artifact.Paths{Out: out}.Cache(), cachedBase)

	unlock, err := lock(bases)
	if err != nil {
		return err
	}
	defer unlock()

	// Remove the leftovers of a killed run. Its mounts ended with its namespaces.
	if err := remove(place); err != nil {
		return fmt.Errorf("remove the leftovers of an earlier run: %w", err)
	}

	defer func() { err = errors.Join(err, remove(place)) }()

	start := time.Now()
	say := func(what string) { fmt.Printf("%7.1fs  fresh: %s\n", time.Since(start).Seconds(), what) }

	base, made, err := base(ctx, bases)
	if err != nil {
		return err
	}

	if made {
		say("created a bare Debian " + suite)
	}

	m, err := plan(ctx, root, out, place, base)
	if err != nil {
		return err
	}

	m.Until, m.In = until, in

	if err := m.prepare(ctx); err != nil {
		return err
	}

	say("prepared a machine with " + bare + ", Go and a clone of " + m.Commit)

	if err := m.enter(ctx); err != nil {
		return err
	}

	say("everything worked, and nothing is left")

	return nil
}

// lock prevents a second run, which would remove the folder of the first. It locks a folder that stays: a file that is
// removed at the end could be locked and removed at the same time.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}

	return state.Lock(dir, "another run has it")
}
