// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"os"
	"path/filepath"
	"time"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/power"
)

// dumpsAll is a parameter of the kernel: it keeps its last lines not only when it panics, but also when it is told to reboot.
const dumpsAll = "sys/module/printk/parameters/always_kmsg_dump"

// Halt ends a boot that has failed: it logs the reason, waits, so that the console can be read, and reboots. The firmware keeps the reason for the
// next boot. With the kernel argument panic=0 it waits for ever.
func Halt(why error, logf func(string, ...any)) {
	logf("%s%v", layout.DoesNotStart, why)

	args, err := cmdline.Read("/proc")
	if err == nil && hasArg(args, "panic", "0") {
		logf("halted because of the kernel argument panic=0; switch the machine off")

		for {
			time.Sleep(time.Hour)
		}
	}

	logf("rebooting in 10 seconds")
	time.Sleep(10 * time.Second)

	dumpAtReboot("/", newRoot)

	if err := power.Flush(); err != nil {
		logf("%v", err)
	}

	if err := power.Reboot(); err != nil {
		logf("%v", err)
	}

	os.Exit(1)
}

// dumpAtReboot has the kernel keep its last lines when it is told to reboot. sysfs may be in one of the roots. Without it, the next boot does not
// know the reason.
func dumpAtReboot(roots ...string) {
	for _, root := range roots {
		if os.WriteFile(filepath.Join(root, dumpsAll), []byte("Y"), 0) == nil {
			return
		}
	}
}
