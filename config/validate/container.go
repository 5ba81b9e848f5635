// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// container warns of what a machine in a container accepts and leaves alone: that part of the computer is another's. It is
// no error, so that one configuration serves containers and machines.
func (c *check) container(m *v1alpha1.MachineConfig) {
	if c.mode != Container {
		return
	}

	const notApplied = "is not applied in a container: "

	for _, name := range slices.Sorted(maps.Keys(m.Sysctls)) {
		if !strings.HasPrefix(name, "net.") {
			c.warn(strict.Join("machine.sysctls", name), notApplied+"only parameters of the network (net.*) are the machine's own")
		}
	}

	for _, setting := range []struct {
		path, why string
		set       bool
	}{
		{"machine.sysfs", "the kernel is the host's", len(m.Sysfs) > 0},
		{"machine.kernel.modules", "the kernel is the host's, which must have them", len(m.Kernel.Modules) > 0},
		{"machine.install.extraKernelArgs", "the kernel's arguments are the host's", len(m.Install.ExtraKernelArgs) > 0},
		{"machine.disks", "it has no disks", len(m.Disks) > 0},
		{"machine.time", "the clock is the host's", len(m.Time.Servers) > 0 || m.Time.BootTimeout > 0},
	} {
		if setting.set {
			c.warn(setting.path, notApplied+"%s", setting.why)
		}
	}
}
