// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"regexp"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// KernelModuleConfig has the kernel load a module. Its name is that of the module.
type KernelModuleConfig struct {
	document.Named `yaml:",inline"`
	// Parameters of the module, such as name=value.
	Parameters []string `yaml:"parameters,omitempty" like:"machine.kernel.modules"`
}

var kernelModule = document.Of[KernelModuleConfig]("KernelModuleConfig", `apiVersion: v1alpha1
kind: KernelModuleConfig
name: btrfs
`)

// SysctlConfig has parameters of the kernel below /proc/sys.
type SysctlConfig struct {
	document.Header `yaml:",inline"`
	// The values, by the names of the parameters with dots.
	Params map[string]string `yaml:"params" required:"true" maps:"machine.sysctls"`
}

var sysctl = document.Of[SysctlConfig]("SysctlConfig", `apiVersion: v1alpha1
kind: SysctlConfig
params:
    net.ipv4.ip_forward: "0"
`)

// SysfsConfig has parameters of the kernel below /sys.
type SysfsConfig struct {
	document.Header `yaml:",inline"`
	// The values, by the paths of the parameters with dots.
	Params map[string]string `yaml:"params" required:"true" maps:"machine.sysfs"`
}

var sysfs = document.Of[SysfsConfig]("SysfsConfig", `apiVersion: v1alpha1
kind: SysfsConfig
params:
    devices.system.cpu.cpu0.cpufreq.scaling_governor: performance
`)

// UdevRulesConfig has rules for devices, beside those of the image.
type UdevRulesConfig struct {
	document.Header `yaml:",inline"`
	// The rules, one line each (udev(7)).
	Rules []string `yaml:"rules" required:"true" maps:"machine.udev.rules"`
}

var udevRules = document.Of[UdevRulesConfig]("UdevRulesConfig", `apiVersion: v1alpha1
kind: UdevRulesConfig
rules:
    - SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="44", MODE="0660"
`)

// WatchdogTimerConfig has a watchdog restart the machine when process 1 hangs.
type WatchdogTimerConfig struct {
	document.Header `yaml:",inline"`
	// The device of the watchdog.
	Device string `yaml:"device" required:"true"`
	// How long process 1 may hang; a minute without it.
	Timeout time.Duration `yaml:"timeout,omitempty"`
}

var watchdog = document.Of[WatchdogTimerConfig]("WatchdogTimerConfig", `apiVersion: v1alpha1
kind: WatchdogTimerConfig
device: /dev/watchdog0
timeout: 2m
`)

// leastWatchdog is the least time after which a watchdog may restart the machine.
const leastWatchdog = 10 * time.Second

var watchdogDevice = regexp.MustCompile(`^/dev/watchdog[0-9]*$`)

// Validate implements document.Validator.
func (c *WatchdogTimerConfig) Validate(r *document.Report) {
	if c.Device != "" && !watchdogDevice.MatchString(c.Device) {
		r.Wrong("device", "%q is not a watchdog: want one such as /dev/watchdog0", c.Device)
	}

	if c.Timeout != 0 && c.Timeout < leastWatchdog {
		r.Wrong("timeout", "%v is too short: want %v at least", c.Timeout, leastWatchdog)
	}
}

// OOMConfig says what is ended when memory is short. Without expressions, a pod is ended when nothing can run for want of memory.
type OOMConfig struct {
	document.Header `yaml:",inline"`
	// A CEL expression over the memory and its pressure. It is true when a pod must be ended.
	TriggerExpression value.MemoryExpression `yaml:"triggerExpression,omitempty"`
	// A CEL expression over the cgroup of a pod. The pod with the largest value above 0 is ended.
	CgroupRankingExpression value.PodExpression `yaml:"cgroupRankingExpression,omitempty"`
	// Whether pods are ended by their class first, and by the ranking only within a class.
	StrictCgroupClassOrdering *bool `yaml:"strictCgroupClassOrdering,omitempty"`
	// How often memory is looked at.
	SampleInterval time.Duration `yaml:"sampleInterval,omitempty"`
}

var oom = document.Of[OOMConfig]("OOMConfig", `apiVersion: v1alpha1
kind: OOMConfig
triggerExpression: memory_full_avg10 > 12.0 && time_since_trigger > duration("500ms")
sampleInterval: 100ms
`)

// PCIDriverRebindConfig gives a PCI device another driver. Its name is the address of the device, or VENDOR:DEVICE.
type PCIDriverRebindConfig struct {
	document.Named `yaml:",inline"`
	// The driver.
	TargetDriver string `yaml:"targetDriver" required:"true"`
}

var pciRebind = document.Of[PCIDriverRebindConfig]("PCIDriverRebindConfig", `apiVersion: v1alpha1
kind: PCIDriverRebindConfig
name: 0000:04:00.0
targetDriver: vfio-pci
`)

// pciDevice is an address of a device, or its vendor and its kind.
var pciDevice = regexp.MustCompile(`^([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[0-9a-f]{4}:[0-9a-f]{4})$`)

// Validate implements document.Validator.
func (c *PCIDriverRebindConfig) Validate(r *document.Report) {
	if !pciDevice.MatchString(c.DocName) {
		r.Wrong("name", "%q is not a PCI device: want an address such as 0000:04:00.0, or VENDOR:DEVICE such as 10de:2204", c.DocName)
	}
}

// Overlay implements overlay.Overlayer.
func (c *KernelModuleConfig) Overlay(main *v1alpha1.Config) {
	modules := &main.Machine.Kernel.Modules
	*modules = append(slices.Clip(*modules), v1alpha1.KernelModule{Name: c.DocName, Parameters: c.Parameters})
}
