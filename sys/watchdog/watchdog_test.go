// SPDX-License-Identifier: Apache-2.0

//go:build linux

package watchdog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNoWayOut(t *testing.T) {
	sys := t.TempDir()

	for name, text := range map[string]string{"watchdog0": "1\n", "watchdog1": "0\n"} {
		dir := filepath.Join(sys, "class/watchdog", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, "nowayout"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for path, want := range map[string]bool{"/dev/watchdog": true, "/dev/watchdog0": true, "/dev/watchdog1": false, "/dev/watchdog2": false} {
		if got := noWayOut(sys, path); got != want {
			t.Errorf("%s: got %t, want %t", path, got, want)
		}
	}
}

// TestNotAWatchdog: the errors of the kernel are passed on. There is no watchdog that a test could use.
func TestNotAWatchdog(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "watchdog9")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no device: got %v", err)
	}

	path := filepath.Join(t.TempDir(), "watchdog9")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := d.SetTimeout(time.Minute); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("set the timeout: got %v, want %v", err, unix.ENOTTY)
	}

	if err := d.Feed(); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("feed: got %v, want %v", err, unix.ENOTTY)
	}

	if err := d.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}

	if text, err := os.ReadFile(path); err != nil || string(text) != stopSign {
		t.Errorf("got %q, %v, want %q", text, err, stopSign)
	}
}
