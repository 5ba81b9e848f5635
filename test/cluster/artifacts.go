// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/components/hosttools/hosttest"
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

// artifacts are where a build has left what is needed.
type artifacts struct {
	out               string
	disk, code, vars  string
	root, images      string
	kubectl, talosctl string
}

// Out is the folder that builds write to, found from the folder of a test.
func Out() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}

	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "out"), nil
		}

		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}

		dir = parent
	}
}

func find() (artifacts, error) {
	out, err := Out()
	if err != nil {
		return artifacts{}, err
	}

	a := artifacts{
		out: out, disk: filepath.Join(out, "images", "metal-amd64.raw"),
		root:    filepath.Join(out, "images", "rootfs.sqsh"),
		images:  filepath.Join(out, "components", "image-layout"),
		code:    filepath.Join(out, "components", "firmware", "OVMF_CODE.fd"),
		vars:    filepath.Join(out, "components", "firmware", "OVMF_VARS.fd"),
		kubectl: filepath.Join(out, "bin", "kubectl"), talosctl: filepath.Join(out, "bin", "talosctl"),
	}

	for _, path := range []string{a.disk, a.root, a.images, a.code, a.vars, a.kubectl, a.talosctl} {
		if _, err := os.Stat(path); err != nil {
			return a, fmt.Errorf("%w: run make build", err)
		}
	}

	return a, nil
}

func (a artifacts) image() lab.Image {
	return lab.Image{Disk: a.disk, Firmware: &qemu.Firmware{Code: a.code, Vars: a.vars}, Root: a.root, Cache: a.images}
}
