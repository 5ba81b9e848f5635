// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// Type is the role of the machine.
func (c *Config) Type() MachineType { return c.main.Machine.Type }

// MachineToken is what a worker shows to get its certificate.
func (c *Config) MachineToken() string { return c.main.Machine.Token }

// MachineCA is the authority of the machine API, on workers without its key.
func (c *Config) MachineCA() CertPair { return c.main.Machine.CA }

// MachineAcceptedCAs are authorities of the machine API's clients besides the issuing one.
func (c *Config) MachineAcceptedCAs() []Cert { return c.main.Machine.AcceptedCAs }

// MachineCertSANs are extra names and addresses of the machine API's certificate.
func (c *Config) MachineCertSANs() []string { return c.main.Machine.CertSANs }

// Sysctls are values of files below /proc/sys, by path with dots for slashes.
func (c *Config) Sysctls() map[string]string { return c.main.Machine.Sysctls }

// Sysfs are values of files below /sys, by path with dots for slashes.
func (c *Config) Sysfs() map[string]string { return c.main.Machine.Sysfs }

// KernelModules are loaded besides those that the system needs.
func (c *Config) KernelModules() []KernelModule { return c.main.Machine.Kernel.Modules }

// Registries are where container images come from.
func (c *Config) Registries() Registries { return c.main.Machine.Registries }

// TimeSyncDisabled reports whether the clock is left alone.
func (c *Config) TimeSyncDisabled() bool { return IsTrue(c.main.Machine.Time.Disabled) }

// TimeServers are the NTP servers; empty for the default.
func (c *Config) TimeServers() []string { return c.main.Machine.Time.Servers }

// TimeBootTimeout is how long the boot waits for the time; 0 is until it is known.
func (c *Config) TimeBootTimeout() time.Duration { return c.main.Machine.Time.BootTimeout }
