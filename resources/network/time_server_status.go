// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var timeServerStatusDefinition = domain.Alias("timeserver", "timeservers").Type("TimeServerStatuses", "Timeservers={.timeServers}")

// TimeServerStatusSpec has the time servers in use.
type TimeServerStatusSpec struct {
	NTPServers []string `yaml:"timeServers" protobuf:"1"`
	UseNTS     bool     `yaml:"useNTS,omitempty" protobuf:"2"`
}

// Definition implements resource.Spec.
func (TimeServerStatusSpec) Definition() *resource.Definition { return timeServerStatusDefinition }
