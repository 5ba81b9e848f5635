// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/watchdog"
)

// WatchdogList names the files of the watchdogs' drivers, with parameters, one a line. The kernel's own watchdog is the last.
const WatchdogList = "/watchdog.load"

// SoftwareWatchdog is the module of the kernel's own watchdog, which needs no hardware.
const SoftwareWatchdog = "softdog"

// watchdogArg is the kernel argument that turns off, with the value watchdogOff, the watchdog that runs when none is configured.
const (
	watchdogArg = "talos.watchdog"
	watchdogOff = "off"
)

// WantsWatchdog reports whether a watchdog runs that no one has configured. Without a restart after a panic there is none: the machine is to
// stay as it is, so that someone can look at it.
func WantsWatchdog(args cmdline.Cmdline) bool {
	return !hasArg(args, watchdogArg, watchdogOff) && !hasArg(args, "panic", "0")
}

// armWatchdog starts a watchdog before there is anything that could hang. machined feeds it. A boot without a watchdog goes on.
func armWatchdog(log *kmsg) {
	args, err := cmdline.Read("/proc")
	if err != nil || !WantsWatchdog(args) {
		return
	}

	if text, err := os.ReadFile(WatchdogList); err != nil {
		log.errorf("initramfs: watchdog: %v", err)
	} else {
		for _, m := range moduleLines(string(text)) {
			// The hardware's is better: it works when the kernel hangs too.
			if m.name() == SoftwareWatchdog && watchdog.Find("/sys") != "" {
				continue
			}

			// A driver without its hardware is an error for some, so errors matter only when no watchdog is found.
			if err := m.insert(); err != nil && m.name() == SoftwareWatchdog {
				log.errorf("initramfs: %v", err)
			}
		}
	}

	path := watchdog.Find("/sys")
	if path == "" {
		log.errorf("initramfs: there is no watchdog: a system that hangs before it runs stays as it is")

		return
	}

	timeout, err := watchdog.Arm(watchdog.Open, path)
	if err != nil {
		log.errorf("initramfs: %v", err)

		return
	}

	log.infof("watchdog %s runs, with a timeout of %s", filepath.Base(path), timeout)
}
