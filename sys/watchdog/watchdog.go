// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package watchdog uses a hardware watchdog (the kernel's Documentation/watchdog/watchdog-api.rst): a timer that resets the machine unless
// it is fed. It runs from the moment that the device is opened.
package watchdog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoWayOut means that a watchdog cannot be stopped: it must be fed until the machine goes down.
var ErrNoWayOut = errors.New("the watchdog cannot be stopped before the next boot (nowayout)")

// Device is a watchdog that runs.
type Device interface {
	// SetTimeout sets after how much time without Feed the watchdog resets the machine. It returns what the device made of it.
	SetTimeout(timeout time.Duration) (time.Duration, error)
	// Feed starts the time again.
	Feed() error
	// Stop stops the watchdog and closes the device. With ErrNoWayOut the device stays open.
	Stop() error
	// Leave closes the device while the watchdog runs: another process must feed it in time.
	Leave() error
}

// Opener opens a device by its path, which starts it.
type Opener func(path string) (Device, error)

// Open is the Opener of real devices.
func Open(path string) (Device, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("open watchdog: %w", err)
	}

	return &device{f, path}, nil
}

type device struct {
	file *os.File
	path string
}

func (d *device) SetTimeout(timeout time.Duration) (time.Duration, error) {
	fd := int(d.file.Fd())

	if err := unix.IoctlSetPointerInt(fd, unix.WDIOC_SETTIMEOUT, int(timeout/time.Second)); err != nil {
		return 0, fmt.Errorf("watchdog %s: set the timeout to %s: %w", d.path, timeout, err)
	}

	seconds, err := unix.IoctlGetInt(fd, unix.WDIOC_GETTIMEOUT)
	if err != nil {
		return 0, fmt.Errorf("watchdog %s: read the timeout: %w", d.path, err)
	}

	return time.Duration(seconds) * time.Second, nil
}

func (d *device) Feed() error {
	if err := unix.IoctlWatchdogKeepalive(int(d.file.Fd())); err != nil {
		return fmt.Errorf("feed watchdog %s: %w", d.path, err)
	}

	return nil
}

// stopSign is what is written before a device is closed, if it is to stop.
const stopSign = "V"

func (d *device) Stop() error {
	if noWayOut("/sys", d.path) {
		return fmt.Errorf("watchdog %s: %w", d.path, ErrNoWayOut)
	}

	_, err := d.file.WriteString(stopSign)
	if err = errors.Join(err, d.file.Close()); err != nil {
		return fmt.Errorf("stop watchdog %s: %w", d.path, err)
	}

	return nil
}

func (d *device) Leave() error {
	if err := d.file.Close(); err != nil {
		return fmt.Errorf("leave watchdog %s running: %w", d.path, err)
	}

	return nil
}

// noWayOut reports whether the kernel refuses to stop a watchdog. /dev/watchdog is another name of the first one.
func noWayOut(sys, path string) bool {
	name := filepath.Base(path)
	if name == "watchdog" {
		name = "watchdog0"
	}

	text, err := os.ReadFile(filepath.Join(sys, "class/watchdog", name, "nowayout"))

	return err == nil && strings.TrimSpace(string(text)) == "1"
}
