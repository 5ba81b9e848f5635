// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var timeServerSpecDefinition = domain.Type("TimeServerSpecs")

// TimeServerSpecSpec has the time servers that one layer proposes.
type TimeServerSpecSpec struct {
	NTPServers []string    `yaml:"timeServers" protobuf:"1"`
	UseNTS     bool        `yaml:"useNTS,omitempty" protobuf:"3"`
	Layer      ConfigLayer `yaml:"layer" protobuf:"2"`
}

// Definition implements resource.Spec.
func (TimeServerSpecSpec) Definition() *resource.Definition { return timeServerSpecDefinition }

// ID is the identity of the spec in namespace network.
func (TimeServerSpecSpec) ID() string { return TimeServerID }

// ConfigLayer is the layer that the spec comes from.
func (s TimeServerSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }
