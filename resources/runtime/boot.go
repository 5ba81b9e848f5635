// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var bootDefinition = domain.Type("Boots", "Boot={.boot}", "Start={.start}", "End={.end}", "Reason={.reason}")

// BootSpec is one boot whose logs are kept. Its id is the number of its folder, which only grows.
type BootSpec struct {
	// Boot is 0 for the one that runs, -1 for the one before, and so on: what the logs are asked for by.
	Boot int `yaml:"boot" protobuf:"1"`
	// BootID that the kernel gave it.
	BootID string `yaml:"bootID" protobuf:"2"`
	// Start and End in RFC 3339; End is empty while it runs.
	Start string `yaml:"start" protobuf:"3"`
	End   string `yaml:"end,omitempty" protobuf:"4"`
	// Reason of its end: an API call, a kernel panic, a watchdog, or that there is no trace of one.
	Reason string `yaml:"reason,omitempty" protobuf:"5"`
	// Version of the system that was booted.
	Version string `yaml:"version" protobuf:"6"`
}

// Definition implements resource.Spec.
func (BootSpec) Definition() *resource.Definition { return bootDefinition }
