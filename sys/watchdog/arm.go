// SPDX-License-Identifier: Apache-2.0

//go:build linux

package watchdog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Patience is how long process 1 may hang before a watchdog that no one has configured resets the machine. An emulated machine on a busy
// computer stalls for seconds, so that a needless reset costs more than some time. A version that hangs is to be replaced by the one before within
// three minutes, of which two boots take a part.
const Patience = 90 * time.Second

// shorter are the timeouts of devices that refuse Patience: some chips cannot count that far.
var shorter = []time.Duration{time.Minute, 30 * time.Second, 10 * time.Second}

// software is the identity of the kernel's own watchdog, which works as long as the kernel does.
const software = "Software Watchdog"

// Find returns the path of the watchdog to use, or an empty string if the kernel has none. A watchdog of the hardware comes before the
// kernel's own, since it works when the kernel hangs too. sys is the mount point of sysfs.
func Find(sys string) string {
	const class = "class/watchdog"

	folders, err := os.ReadDir(filepath.Join(sys, class))
	if err != nil {
		return ""
	}

	var hardware, own []int

	for _, f := range folders {
		digits, ok := strings.CutPrefix(f.Name(), "watchdog")

		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 {
			continue
		}

		// A kernel without the file has hardware: its own watchdog is a module of the kernel that has it.
		identity, _ := os.ReadFile(filepath.Join(sys, class, f.Name(), "identity"))
		if strings.TrimSpace(string(identity)) == software {
			own = append(own, n)
		} else {
			hardware = append(hardware, n)
		}
	}

	slices.Sort(hardware)
	slices.Sort(own)

	if all := slices.Concat(hardware, own); len(all) > 0 {
		return "/dev/watchdog" + strconv.Itoa(all[0])
	}

	return ""
}

// SetPatience sets the timeout to Patience, or to the longest of some shorter ones that the device accepts. It returns what the device
// made of it.
func SetPatience(d Device) (time.Duration, error) {
	timeout, err := d.SetTimeout(Patience)

	for _, t := range shorter {
		if err == nil {
			break
		}

		var again error
		if timeout, again = d.SetTimeout(t); again == nil {
			err = nil
		}
	}

	return timeout, err
}

// Arm starts a watchdog, and leaves it to process 1 to feed it. It returns the timeout.
func Arm(open Opener, path string) (time.Duration, error) {
	d, err := open(path)
	if err != nil {
		return 0, err
	}

	timeout, err := SetPatience(d)
	if err == nil {
		err = d.Feed()
	}

	if err != nil {
		return 0, errors.Join(err, d.Stop())
	}

	return timeout, d.Leave()
}
