// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/qemu"
)

// Require is the environment variable with which a test fails, and is not skipped, when nothing is built.
const Require = hosttest.Require

// Values of that variable that request more tests than make test.
const (
	Landing = "landing" // all tests that a change must pass to land
	All     = "all"     // also tests that need several virtual machines
)

// Asked reports whether a level of tests is requested, or one above it.
func Asked(level string) bool {
	got := os.Getenv(Require)

	return got == level || got == All
}

// Above skips a test of a level that is not requested.
func Above(t testing.TB, level, why string) {
	t.Helper()

	if !Asked(level) {
		t.Skipf("%s: set %s=%s", why, Require, level)
	}
}

// InTime reports whether the tests have so much time left before their deadline. At the level All they always have.
func InTime(t *testing.T, need time.Duration) bool {
	deadline, limited := t.Deadline()

	return !limited || Asked(All) || time.Until(deadline) >= need
}

// NeedsTime skips a test for which no time is left on a slow computer. The need is that of the test and of those after it.
func NeedsTime(t *testing.T, need time.Duration) {
	t.Helper()

	if !InTime(t, need) {
		t.Skipf("less than %s are left until the tests must end, on a slow computer: set %s=%s", need.Round(time.Minute), Require, All)
	}
}

// find returns the paths of a build that has everything for a cluster.
func find() (artifact.Paths, error) {
	built, err := artifact.Find()
	if err != nil {
		return built, err
	}

	for _, path := range []string{
		built.Disk(), built.Root(), built.ImageLayout(), built.FirmwareCode(), built.FirmwareVars(), built.Bin("kubectl"), built.Bin("talosctl"),
	} {
		if _, err := os.Stat(path); err != nil {
			return built, fmt.Errorf("%w: run make build", err)
		}
	}

	return built, nil
}

// image returns the images that machines run.
func image(built artifact.Paths) lab.Image {
	return lab.Image{
		Disk: built.Disk(), Firmware: &qemu.Firmware{Code: built.FirmwareCode(), Vars: built.FirmwareVars()},
		Root: built.Root(), Cache: built.ImageLayout(),
	}
}
