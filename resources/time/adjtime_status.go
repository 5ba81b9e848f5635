// SPDX-License-Identifier: Apache-2.0

package time

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var adjtimeStatusDefinition = domain.Type("AdjtimeStatuses",
	"Offset={.offset}", "EstError={.estError}", "MaxError={.maxError}", "Status={.status}", "Sync={.syncStatus}")

// AdjtimeStatusSpec is the state of the kernel's clock discipline.
type AdjtimeStatusSpec struct {
	Offset                   time.Duration `yaml:"offset" protobuf:"1"`
	FrequencyAdjustmentRatio float64       `yaml:"frequencyAdjustmentRatio" protobuf:"2"`
	MaxError                 time.Duration `yaml:"maxError" protobuf:"3"`
	EstError                 time.Duration `yaml:"estError" protobuf:"4"`
	Status                   string        `yaml:"status" protobuf:"5"`
	Constant                 int           `yaml:"constant" protobuf:"6"`
	SyncStatus               bool          `yaml:"syncStatus" protobuf:"7"`
	State                    string        `yaml:"state" protobuf:"8"`
}

// Definition implements resource.Spec.
func (AdjtimeStatusSpec) Definition() *resource.Definition { return adjtimeStatusDefinition }
