// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/test/host"
)

// inside is process 1 of the machine: it mounts the root, enters it, and does what a user does.
func inside(description string) error {
	var m machine
	if err := json.Unmarshal([]byte(description), &m); err != nil {
		return err
	}

	if err := m.mount(); err != nil {
		return err
	}

	return m.use()
}

// mount mounts the machine's root and enters it.
func (m *machine) mount() error {
	// The mounts are not visible outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}

	if err := m.overlay(m.Base, "/"); err != nil {
		return err
	}

	for place, lower := range m.Overlays {
		if err := m.overlay(lower, place); err != nil {
			return err
		}
	}

	for _, b := range []struct {
		from, to string
		flags    uintptr
	}{{m.Go, goPlace, unix.MS_RDONLY}, {"/dev", "/dev", 0}, {"/sys", "/sys", 0}} {
		to := filepath.Join(m.Root, b.to)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}

		if err := unix.Mount(b.from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s: %w", b.from, err)
		}

		if b.flags != 0 {
			if err := unix.Mount("", to, "", unix.MS_REMOUNT|unix.MS_BIND|b.flags, ""); err != nil {
				return fmt.Errorf("make %s read-only: %w", b.to, err)
			}
		}
	}

	if err := unix.Mount("proc", filepath.Join(m.Root, "proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}

	// The old root is mounted over the new one, and then unmounted.
	if err := os.Chdir(m.Root); err != nil {
		return err
	}

	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("make %s the root: %w", m.Root, err)
	}

	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the old root: %w", err)
	}

	return errors.Join(os.Chdir("/"), unix.Sethostname([]byte("fresh")))
}

// overlay mounts a folder at a place of the machine, so that writes there do not change the folder.
func (m *machine) overlay(lower, place string) error {
	upper, work, target := m.upper(place), m.upper(place)+".work", filepath.Join(m.Root, place)
	for _, dir := range []string{upper, work, target} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}

	// A cache of Go may not exist yet.
	if err := os.MkdirAll(lower, 0o755); err != nil {
		return err
	}

	if strings.ContainsAny(lower+upper, ":,\\") {
		return fmt.Errorf("overlay %s: its path has a colon, a comma or a backslash, which mount cannot take", lower)
	}

	options := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
	if err := unix.Mount("overlay", target, "overlay", 0, options); err != nil {
		return fmt.Errorf("overlay %s at %s: %w: the folder out must lie on a file system that can be written through an overlay", lower, place, err)
	}

	return nil
}

// use runs the commands of README. With untilMachinesOn the machines stay in maintenance.
func (m *machine) use() error {
	up := []string{"up", "NAME=fresh", "IN=" + m.In}
	if m.Until == untilMachinesOn {
		up = append(up, "LABFLAGS=--offline --skip-injecting-config")
	}

	for _, targets := range [][]string{up, {"down", "NAME=fresh"}} {
		start := time.Now()
		fmt.Println("fresh: $ make", strings.Join(targets, " "))

		cmd := exec.Command("make", targets...)
		cmd.Dir, cmd.Env = sourcePlace, m.Env
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr

		if err := cmd.Run(); err != nil {
			return fmt.Errorf("make %s: %w", targets[0], err)
		}

		fmt.Printf("fresh: make %s took %.1fs\n", targets[0], time.Since(start).Seconds())
	}

	if err := alone(endTime); err != nil {
		return fmt.Errorf("after make down: %w", err)
	}

	if _, err := os.Stat(filepath.Join(sourcePlace, "out/lab/fresh")); err == nil {
		return errors.New("make down left the folder out/lab/fresh")
	}

	return nil
}

// endTime is how long stopped processes may take to end.
const endTime = 10 * time.Second

// alone waits until no other process runs.
func alone(patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		left, err := host.Left()
		if err != nil || len(left) == 0 {
			return err
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("processes still run: %s", strings.Join(left, "; "))
		}
	}
}
