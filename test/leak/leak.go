// SPDX-License-Identifier: Apache-2.0

// Package leak fails the tests of a package that leave a goroutine behind: what a test starts ends with it. Every package with
// tests has a file main_test.go:
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// One whose TestMain does more calls Run. A goroutine that is still there some time after the last test is a leak; what ran before
// the first one, as loops that libraries start when they are loaded, is not. Nor is one in a function that the caller names, with its
// reason: those of libraries that end by themselves, but later.
package leak

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long the goroutines of the last test may take to end: on a busy computer, much longer than goleak waits.
const patience = 30 * time.Second

// Main runs the tests of a package and ends the program.
func Main(m *testing.M, known ...string) { os.Exit(Run(m, known...)) }

// Run runs the tests of a package and returns the exit code: not 0 if a goroutine is left. Those in the known functions, as a
// stack trace names them, may be.
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

// wait returns nil as soon as no goroutine is left, and what is left when the time is over.
func wait(patience time.Duration, allowed ...goleak.Option) error {
	var err error

	for deadline := time.Now().Add(patience); ; {
		if err = goleak.Find(allowed...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
