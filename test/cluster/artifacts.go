// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/qemu"
)

// Require is the variable that, when it is set, makes a test fail that would be skipped because nothing is built.
const Require = hosttest.Require

// Values of that variable which ask for more than make test does.
const (
	Landing = "landing" // all that decides whether a change may land
	All     = "all"     // what takes several virtual machines, too
)

// Asked reports whether a level of tests is asked for, or one above it.
func Asked(level string) bool {
	got := os.Getenv(Require)

	return got == level || got == All
}

// Above skips a test that is of a level that is not asked for.
func Above(t testing.TB, level, why string) {
	t.Helper()

	if !Asked(level) {
		t.Skipf("%s: set %s=%s", why, Require, level)
	}
}

// find returns where a build has left all that a cluster needs.
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

// image is what machines run.
func image(built artifact.Paths) lab.Image {
	return lab.Image{
		Disk: built.Disk(), Firmware: &qemu.Firmware{Code: built.FirmwareCode(), Vars: built.FirmwareVars()},
		Root: built.Root(), Cache: built.ImageLayout(),
	}
}
