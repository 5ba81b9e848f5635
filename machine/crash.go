// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/kmsg"
)

// crashModule is the driver of a terminal whose lines go to the kernel's log, and crashTerminal its device. Go's runtime writes
// a trace in fragments, and /dev/kmsg would make each of them a record.
const (
	crashModule   = "ttyprintk"
	crashTerminal = "/dev/ttyprintk"
)

// keepCrashes has Go's runtime write the trace of a crash to the kernel's log too. When process 1 ends the kernel panics, and the
// firmware keeps the kernel's log (pstore) for the next boot.
func keepCrashes(load func(name string, params ...string) error) error {
	var missing error
	if load != nil {
		missing = load(crashModule)
	}

	if err := setCrashOutput(crashTerminal, kmsg.Path); err != nil {
		return errors.Join(err, missing)
	}

	return nil
}

// setCrashOutput writes the traces of fatal errors to the first of the files that can be opened.
func setCrashOutput(paths ...string) error {
	var errs []error

	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOCTTY, 0)
		if err == nil {
			err = errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), f.Close()) // the runtime has a duplicate
		}

		if err == nil {
			return nil
		}

		errs = append(errs, err)
	}

	return fmt.Errorf("keep the trace of a crash: %w", errors.Join(errs...))
}
