// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

const notApplied = "is ignored in a container: "

// notInContainer are the kinds of documents that a machine in a container ignores, with the reasons.
var notInContainer = map[string]string{
	"FilesystemTrimConfig":  "a container has no disks",
	"KmsgLogConfig":         "the kernel's log is the host's",
	"OOMConfig":             "the memory is the host's",
	"PCIDriverRebindConfig": "the devices are the host's",
	"UdevRulesConfig":       "the devices are the host's",
	"WatchdogTimerConfig":   "the watchdogs are the host's",
	"ZswapConfig":           "the host owns the kernel",
}

// container warns about settings that a machine in a container ignores, because they belong to the host. They are not errors, so
// that one configuration can serve containers and machines.
func (c *check) container(m *v1alpha1.MachineConfig) {
	if c.mode != Container {
		return
	}

	for _, name := range slices.Sorted(maps.Keys(m.Sysctls)) {
		if !strings.HasPrefix(name, "net.") {
			c.warn(strict.Join("machine.sysctls", name), notApplied+"a container only has its own network parameters (net.*)")
		}
	}

	for _, setting := range []struct {
		path, why string
		set       bool
	}{
		{"machine.sysfs", "the host owns the kernel", len(m.Sysfs) > 0},
		{"machine.kernel.modules", "the host must load them", len(m.Kernel.Modules) > 0},
		{"machine.install.extraKernelArgs", "the host sets the kernel's arguments", len(m.Install.ExtraKernelArgs) > 0},
		{"machine.udev", "the devices are the host's", len(m.Udev.Rules) > 0},
		{"machine.disks", "a container has no disks", len(m.Disks) > 0},
		{"machine.time", "the host sets the clock", len(m.Time.Servers) > 0 || m.Time.BootTimeout > 0},
	} {
		if setting.set {
			c.warn(setting.path, notApplied+"%s", setting.why)
		}
	}
}
