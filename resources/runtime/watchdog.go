// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// WatchdogTimerID is the id of the only WatchdogTimerConfig and of its status.
const WatchdogTimerID = "timer"

var watchdogTimerConfigDefinition = domain.Type("WatchdogTimerConfigs", "Device={.device}", "Timeout={.timeout}")

// WatchdogTimerConfigSpec is the watchdog that restarts the machine when process 1 hangs for the timeout.
type WatchdogTimerConfigSpec struct {
	Device  string        `yaml:"device"  protobuf:"1"`
	Timeout time.Duration `yaml:"timeout" protobuf:"2"`
}

// Definition implements resource.Spec.
func (WatchdogTimerConfigSpec) Definition() *resource.Definition {
	return watchdogTimerConfigDefinition
}

var watchdogTimerStatusDefinition = domain.Type("WatchdogTimerStatuses",
	"Device={.device}", "Timeout={.timeout}", "Feed Interval={.feedInterval}")

// WatchdogTimerStatusSpec is the watchdog that runs. Its timeout is what the device made of the configured one.
type WatchdogTimerStatusSpec struct {
	Device       string        `yaml:"device"       protobuf:"1"`
	Timeout      time.Duration `yaml:"timeout"      protobuf:"2"`
	FeedInterval time.Duration `yaml:"feedInterval" protobuf:"3"`
}

// Definition implements resource.Spec.
func (WatchdogTimerStatusSpec) Definition() *resource.Definition {
	return watchdogTimerStatusDefinition
}
