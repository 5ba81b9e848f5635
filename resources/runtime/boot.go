// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var bootDefinition = domain.Type("Boots", "Boot={.boot}", "Start={.start}", "End={.end}", "Reason={.reason}")

// BootSpec is one boot whose logs are kept. Its id is the number of its folder, which increases with each boot.
type BootSpec struct {
	// Boot is the number by which clients request its logs: 0 for the current boot, -1 for the one before, and so on.
	Boot int `yaml:"boot" protobuf:"1"`
	// BootID is the id that the kernel gave it.
	BootID string `yaml:"bootID" protobuf:"2"`
	// Start and End are in RFC 3339; End is empty for the current boot.
	Start string `yaml:"start" protobuf:"3"`
	End   string `yaml:"end,omitempty" protobuf:"4"`
	// Reason of its end: an API call, a kernel panic, a watchdog, or unknown.
	Reason string `yaml:"reason,omitempty" protobuf:"5"`
	// Version is that of the system that was booted.
	Version string `yaml:"version" protobuf:"6"`
}

// Definition implements resource.Spec.
func (BootSpec) Definition() *resource.Definition { return bootDefinition }
