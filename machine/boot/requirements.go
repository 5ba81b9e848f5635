// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/sys/cmdline"
)

// meltdown is the file that reports whether the processor leaks the kernel's memory to programs.
const meltdown = "/sys/devices/system/cpu/vulnerabilities/meltdown"

// requiredArgs are the kernel's hardening arguments that the system requires (Kernel Self Protection Project). An empty value
// is a flag.
var requiredArgs = []struct{ name, value, why string }{
	{"slab_nomerge", "", "keeps kernel objects of different types apart, so that an overflow of one cannot reach another"},
	{"pti", "on", "keeps the kernel out of the page tables of programs"},
}

// CheckArgs checks a kernel command line. Its error names every missing argument. meltdown is the kernel's report about the
// processor: one that is not affected does not need pti=on, which would halve the speed of an emulated processor.
func CheckArgs(line, meltdown string) error {
	args := cmdline.Parse(line)

	var missing []string

	for _, a := range requiredArgs {
		if hasArg(args, a.name, a.value) || a.name == "pti" && strings.TrimSpace(meltdown) == "Not affected" {
			continue
		}

		arg := a.name
		if a.value != "" {
			arg += "=" + a.value
		}

		missing = append(missing, fmt.Sprintf("%s (%s)", arg, a.why))
	}

	if len(missing) == 0 {
		return nil
	}

	return fmt.Errorf("the kernel was started without the hardening arguments that this system requires: %s; "+
		"add them to the boot entry or boot the image's own one", strings.Join(missing, ", "))
}

// hasArg reports whether an argument has the value. The last one of a name counts.
func hasArg(args cmdline.Cmdline, name, value string) bool {
	got, ok := args.Get(name)

	return ok && got == value
}
