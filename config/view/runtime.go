// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/block"
	"github.com/seed-59268b81/talos/config/documents/runtime"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Types of what the machine does beside Kubernetes.
type (
	LogDestination = v1alpha1.LoggingDestination
	SeccompProfile = v1alpha1.SeccompProfile
	MachineFile    = v1alpha1.MachineFile
	FileMode       = v1alpha1.FileMode
)

// LogDestinations are the servers that the logs of services are sent to.
func (c *Config) LogDestinations() []LogDestination { return c.main.Machine.Logging.Destinations }

// KernelLogURLs are the servers that the kernel's log is sent to.
func (c *Config) KernelLogURLs() []URL {
	var urls []URL

	for _, d := range config.All[*runtime.KmsgLogConfig](c.all) {
		urls = append(urls, d.URL)
	}

	return urls
}

// EventSink is the host and port of the server that events are sent to, or "".
func (c *Config) EventSink() string {
	if d := config.Find[*runtime.EventSinkConfig](c.all); d != nil {
		return string(d.Endpoint)
	}

	return ""
}

// EtcFile is a file in /etc.
type EtcFile struct {
	// Name is the path below /etc.
	Name     string
	Mode     FileMode
	Contents string
}

// EtcFiles are the files of documents.
func (c *Config) EtcFiles() []EtcFile {
	var files []EtcFile

	for _, d := range config.All[*runtime.EtcFileConfig](c.all) {
		files = append(files, EtcFile{d.Name(), cmp.Or(d.Mode, 0o644), d.Contents})
	}

	return files
}

// UdevRules are the rules for devices, one line each.
func (c *Config) UdevRules() []string { return c.main.Machine.Udev.Rules }

// MachineFiles are the files of machine.files.
func (c *Config) MachineFiles() []MachineFile { return c.main.Machine.Files }

// Watchdog is the watchdog that restarts the machine when it hangs.
type Watchdog struct {
	Device  string
	Timeout time.Duration
}

// defaultWatchdog is how long a machine may hang, unless the configuration says it.
const defaultWatchdog = time.Minute

// Watchdog returns the watchdog, or nil when there is none.
func (c *Config) Watchdog() *Watchdog {
	d := config.Find[*runtime.WatchdogTimerConfig](c.all)
	if d == nil {
		return nil
	}

	return &Watchdog{d.Device, cmp.Or(d.Timeout, defaultWatchdog)}
}

// SeccompProfiles are the profiles that pods may name.
func (c *Config) SeccompProfiles() []SeccompProfile { return c.main.Machine.Seccomp }

// PCIDrivers are the drivers of PCI devices, by the addresses of the devices or VENDOR:DEVICE.
func (c *Config) PCIDrivers() map[string]string {
	drivers := map[string]string{}

	for _, d := range config.All[*runtime.PCIDriverRebindConfig](c.all) {
		drivers[d.Name()] = d.TargetDriver
	}

	return drivers
}

// OOM is what is done when the machine is short of memory.
type OOM struct {
	// Interval is how often memory is looked at.
	Interval time.Duration
	// ByClass is whether pods of a lower class are ended first, whatever they use.
	ByClass bool
	// Trigger and Ranking are expressions, or empty: see package oomrules of the controllers.
	Trigger, Ranking string
}

// Limits of OOM.Interval.
const (
	defaultOOMInterval = 500 * time.Millisecond
	leastOOMInterval   = 50 * time.Millisecond
)

// OOM returns what the document OOMConfig says, or the defaults.
func (c *Config) OOM() OOM {
	d := config.Find[*runtime.OOMConfig](c.all)
	if d == nil {
		return OOM{Interval: defaultOOMInterval, ByClass: true}
	}

	return OOM{
		Interval: max(cmp.Or(d.SampleInterval, defaultOOMInterval), leastOOMInterval), ByClass: IsTrueOr(d.StrictCgroupClassOrdering, true),
		Trigger: string(d.TriggerExpression), Ranking: string(d.CgroupRankingExpression),
	}
}

// Zswap is how memory is compressed before it is swapped out.
type Zswap struct {
	// MaxPoolPercent is how much of the memory the compressed pages may use.
	MaxPoolPercent int
	// Shrinker is whether compressed pages that are not used are written to the swap volume.
	Shrinker bool
}

// defaultZswap is the kernel's own default of MaxPoolPercent.
const defaultZswap = 20

// Zswap returns the settings, or nil when memory is not compressed.
func (c *Config) Zswap() *Zswap {
	d := config.Find[*block.ZswapConfig](c.all)
	if d == nil {
		return nil
	}

	return &Zswap{cmp.Or(d.MaxPoolPercent, defaultZswap), IsTrue(d.ShrinkerEnabled)}
}

// TrimInterval is how often the file system of a volume tells its disk which blocks it does not use, or 0 for never. What the document of
// the volume says wins over that for all file systems.
func (c *Config) TrimInterval(volume string) time.Duration {
	var interval time.Duration

	if d := config.Find[*block.FilesystemTrimConfig](c.all); d != nil {
		interval = d.Interval
	}

	for _, d := range config.All[*block.VolumeConfig](c.all) {
		switch trim := d.Trim; {
		case d.Name() != volume || trim == nil:
		case !IsTrueOr(trim.Enabled, true):
			return 0
		default:
			return cmp.Or(trim.Interval, interval, defaultTrim)
		}
	}

	return interval
}

// defaultTrim is the interval of a volume that is trimmed, when no document says one.
const defaultTrim = 7 * 24 * time.Hour
