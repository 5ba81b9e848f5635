// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package watchdogtest is a fake of watchdogs, which does what the kernel does: a device that is not fed in time resets the machine.
package watchdogtest

import (
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/sys/watchdog"
)

// Fake is the watchdogs of a computer.
type Fake struct {
	// Longest is the longest timeout that a device accepts. Timeouts are rounded up to multiples of Step.
	Longest, Step time.Duration
	// NoWayOut is set when devices cannot be stopped.
	NoWayOut bool

	mu      sync.Mutex
	paths   map[string]bool
	running map[string]*device
	left    map[string]*device
	resets  int
	fed     int
}

// Plug adds a device.
func (f *Fake) Plug(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.paths == nil {
		f.paths = map[string]bool{}
	}

	f.paths[path] = true
}

// Resets returns how often a watchdog has reset the machine.
func (f *Fake) Resets() int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.resets
}

// Fed returns how often watchdogs were fed.
func (f *Fake) Fed() int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.fed
}

// Runs reports whether a watchdog runs.
func (f *Fake) Runs(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.running[path] != nil
}

// Open implements watchdog.Opener.
func (f *Fake) Open(path string) (watchdog.Device, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	switch {
	case !f.paths[path]:
		return nil, fmt.Errorf("open watchdog: open %s: %w", path, fs.ErrNotExist)
	case f.running[path] != nil:
		return nil, fmt.Errorf("open watchdog: open %s: %w", path, syscall.EBUSY)
	}

	if old := f.left[path]; old != nil {
		old.timer.Stop()
		delete(f.left, path)
	}

	d := &device{fake: f, path: path, timeout: time.Minute}
	d.timer = time.AfterFunc(d.timeout, d.reset)

	if f.running == nil {
		f.running = map[string]*device{}
	}

	f.running[path] = d

	return d, nil
}

type device struct {
	fake    *Fake
	path    string
	timeout time.Duration
	timer   *time.Timer
}

func (d *device) reset() {
	d.fake.mu.Lock()
	defer d.fake.mu.Unlock()

	d.fake.resets++
}

func (d *device) SetTimeout(timeout time.Duration) (time.Duration, error) {
	d.fake.mu.Lock()
	defer d.fake.mu.Unlock()

	if step := d.fake.Step; step > 0 && timeout%step > 0 {
		timeout += step - timeout%step
	}

	if d.fake.Longest > 0 && timeout > d.fake.Longest {
		return 0, fmt.Errorf("watchdog %s: set the timeout to %s: %w", d.path, timeout, syscall.EINVAL)
	}

	d.timeout = timeout
	d.timer.Reset(timeout)

	return timeout, nil
}

func (d *device) Feed() error {
	d.fake.mu.Lock()
	defer d.fake.mu.Unlock()

	d.fake.fed++
	d.timer.Reset(d.timeout)

	return nil
}

// Leave has the time of the device go on until it is opened again.
func (d *device) Leave() error {
	d.fake.mu.Lock()
	defer d.fake.mu.Unlock()

	if d.fake.left == nil {
		d.fake.left = map[string]*device{}
	}

	d.fake.left[d.path] = d
	delete(d.fake.running, d.path)

	return nil
}

func (d *device) Stop() error {
	d.fake.mu.Lock()
	defer d.fake.mu.Unlock()

	if d.fake.NoWayOut {
		return fmt.Errorf("watchdog %s: %w", d.path, watchdog.ErrNoWayOut)
	}

	d.timer.Stop()
	delete(d.fake.running, d.path)

	return nil
}
