// SPDX-License-Identifier: Apache-2.0

package time

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var statusDefinition = domain.Type("TimeStatuses", "Synced={.synced}")

// StatusSpec is whether the clock can be trusted.
type StatusSpec struct {
	Synced       bool `yaml:"synced" protobuf:"1"`
	Epoch        int  `yaml:"epoch" protobuf:"2"`
	SyncDisabled bool `yaml:"syncDisabled" protobuf:"3"`
}

// Definition implements resource.Spec.
func (StatusSpec) Definition() *resource.Definition { return statusDefinition }

// Usable reports whether work that needs the time can begin: the clock is set, or is not to be set.
func (s StatusSpec) Usable() bool { return s.Synced || s.SyncDisabled }
