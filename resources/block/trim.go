// SPDX-License-Identifier: Apache-2.0

package block

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var volumeTrimScheduleDefinition = domain.Type("VolumeTrimSchedules",
	"Filesystem={.filesystem}", "Interval={.interval}", "Next Trim={.nextTrim}")

// VolumeTrimScheduleSpec is when the file system of a mounted volume tells its disk again which blocks it does not use. The id is that
// of the volume.
type VolumeTrimScheduleSpec struct {
	Filesystem FilesystemType `yaml:"filesystem" protobuf:"1"`
	Interval   time.Duration  `yaml:"interval"   protobuf:"2"`
	NextTrim   time.Time      `yaml:"nextTrim"   protobuf:"3"`
}

// Definition implements resource.Spec.
func (VolumeTrimScheduleSpec) Definition() *resource.Definition { return volumeTrimScheduleDefinition }
