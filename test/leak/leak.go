// SPDX-License-Identifier: Apache-2.0

// Package leak fails the tests of a package that leave a goroutine behind: a test must end what it starts. Every package with
// tests has a file main_test.go:
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// A TestMain that does more calls Run. A goroutine that still runs some time after the last test is a leak, except two kinds: one
// that ran before the first test, such as a loop that a library starts when it is loaded; and one in a function that the caller
// names with a reason, because it ends by itself, but later.
package leak

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long the goroutines of the last test may take to end. goleak's own limit is too short for a busy computer.
const patience = 30 * time.Second

// Main runs the tests of a package and ends the program.
func Main(m *testing.M, known ...string) { os.Exit(Run(m, known...)) }

// Run runs the tests of a package and returns the exit code: not 0 if a goroutine is left, unless it is in one of the known
// functions, named as in a stack trace.
func Run(m *testing.M, known ...string) int {
	allowed := []goleak.Option{goleak.IgnoreCurrent()}
	for _, function := range known {
		allowed = append(allowed, goleak.IgnoreAnyFunction(function))
	}

	code := m.Run()
	if code != 0 || fuzzing() {
		return code
	}

	if err := wait(patience, allowed...); err != nil {
		fmt.Fprintf(os.Stderr, "a test left goroutines behind: %v\n", err)

		return 1
	}

	return 0
}

// fuzzing reports whether go test -fuzz runs, whose engine leaves goroutines of its own.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")

	return f != nil && f.Value.String() != ""
}

// wait returns nil as soon as no goroutine is left, or an error at its timeout.
func wait(patience time.Duration, allowed ...goleak.Option) error {
	var err error

	for deadline := time.Now().Add(patience); ; {
		if err = goleak.Find(allowed...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
