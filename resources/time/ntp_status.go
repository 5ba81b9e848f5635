// SPDX-License-Identifier: Apache-2.0

package time

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var ntpStatusDefinition = domain.Type("NTPStatuses", "Spike Detected={.spikeDetected}", "Consecutive Spikes={.consecutiveSpikes}")

// NTPStatusSpec is the state of the filter against wrong answers of time servers.
type NTPStatusSpec struct {
	SpikeDetected     bool `yaml:"spikeDetected" protobuf:"1"`
	ConsecutiveSpikes int  `yaml:"consecutiveSpikes" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NTPStatusSpec) Definition() *resource.Definition { return ntpStatusDefinition }
