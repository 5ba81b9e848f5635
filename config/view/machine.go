// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// Type is the role of the machine.
func (c *Config) Type() MachineType { return c.main.Machine.Type }

// MachineToken authenticates a worker's request for its certificate.
func (c *Config) MachineToken() string { return c.main.Machine.Token }

// MachineCA is the authority of the machine API. Workers do not have its key.
func (c *Config) MachineCA() CertPair { return c.main.Machine.CA }

// MachineAcceptedCAs are additional trusted authorities of the machine API's clients.
func (c *Config) MachineAcceptedCAs() []Cert { return c.main.Machine.AcceptedCAs }

// MachineCertSANs are additional names and addresses in the machine API's certificate.
func (c *Config) MachineCertSANs() []string { return c.main.Machine.CertSANs }

// Sysctls are values of files below /proc/sys, by path with dots instead of slashes.
func (c *Config) Sysctls() map[string]string { return c.main.Machine.Sysctls }

// Sysfs are values of files below /sys, by path with dots instead of slashes.
func (c *Config) Sysfs() map[string]string { return c.main.Machine.Sysfs }

// KernelModules are kernel modules to load besides those that the system needs.
func (c *Config) KernelModules() []KernelModule { return c.main.Machine.Kernel.Modules }

// TimeSyncDisabled reports whether time synchronization is off.
func (c *Config) TimeSyncDisabled() bool { return IsTrue(c.main.Machine.Time.Disabled) }

// TimeServers are the NTP servers. If empty, the default applies.
func (c *Config) TimeServers() []string { return c.main.Machine.Time.Servers }

// TimeBootTimeout is how long the boot waits for the time. 0 means without a limit.
func (c *Config) TimeBootTimeout() time.Duration { return c.main.Machine.Time.BootTimeout }

// TimeDevices are the clocks of the Precision Time Protocol, by the paths of their devices. They take the place of servers.
func (c *Config) TimeDevices() []string {
	d := config.Find[*network.TimeSyncConfig](c.all)
	if d == nil || d.PTP == nil {
		return nil
	}

	return d.PTP.Devices
}
