// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"strings"
)

// confined tries actions that must fail in a container, and some that must succeed. It returns "ok" or the error, by
// name.
func confined() map[string]string {
	same := func(path string) error { // writes what it has read, so that nothing changes
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()

		_, err = file.Write(text)

		return err
	}
	written := func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }
	seen := func(path string) error {
		_, err := os.Lstat(path)

		return err
	}

	tried := map[string]string{}

	for name, err := range map[string]error{
		"the kernel's parameters": same("/proc/sys/kernel/panic"), "the network's": same("/proc/sys/net/ipv4/ip_forward"),
		"/": written("/x"), "/sys": written("/sys/kernel/uevent_helper"), "/run": written("/run/x"), "/tmp": written("/tmp/x"),
		"/var": written("/var/x"), "/system/state": written("/system/state/x"), "a cgroup": os.Mkdir("/sys/fs/cgroup/pids/x", 0o755),
		"the kernel's log": seen("/dev/kmsg"), "a disk": seen("/dev/vda"), "a console": written("/dev/console"),
	} {
		tried[name] = "ok"
		if err != nil {
			tried[name] = err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
		}
	}

	if text, err := os.ReadFile("/proc/sysrq-trigger"); err == nil && len(text) == 0 { // /dev/null
		tried["sysrq"] = "masked"
	}

	return tried
}
