// SPDX-License-Identifier: Apache-2.0

package block

import (
	"regexp"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// LVMVolumeGroupConfig joins volumes to a volume group of the Logical Volume Manager.
type LVMVolumeGroupConfig struct {
	document.Named `yaml:",inline"`
	// Which volumes the group has.
	Provisioning VolumeSelection `yaml:"provisioning" required:"true"`
}

// VolumeSelection is a set of volumes.
type VolumeSelection struct {
	// What selects the volumes.
	VolumeSelector VolumeSelector `yaml:"volumeSelector" required:"true"`
}

var volumeGroup = document.Of[LVMVolumeGroupConfig]("LVMVolumeGroupConfig", `apiVersion: v1alpha1
kind: LVMVolumeGroupConfig
name: vg-pool
provisioning:
    volumeSelector:
        match: disk.transport == "nvme" && !system_disk
`)

// LVMLogicalVolumeConfig creates a logical volume in a volume group.
type LVMLogicalVolumeConfig struct {
	document.Named `yaml:",inline"`
	// How the data are spread.
	Type LogicalVolumeType `yaml:"type,omitempty"`
	// How many copies there are beside the first one, of the types raid1 and raid10.
	Mirrors int `yaml:"mirrors,omitempty" range:"1,9"`
	// Over how many volumes the data are spread, of the types raid0 and raid10.
	Stripes int `yaml:"stripes,omitempty" range:"2,128"`
	// Where the volume is created, and how large it is.
	Provisioning LogicalProvisioning `yaml:"provisioning" required:"true"`
}

// LogicalVolumeType is how the data of a logical volume are spread.
type LogicalVolumeType string

// The types.
const (
	LogicalLinear LogicalVolumeType = "linear"
	LogicalRAID0  LogicalVolumeType = "raid0"
	LogicalRAID1  LogicalVolumeType = "raid1"
	LogicalRAID10 LogicalVolumeType = "raid10"
)

// Values implements document.Enum.
func (LogicalVolumeType) Values() []string {
	return document.EnumOf(LogicalLinear, LogicalRAID0, LogicalRAID1, LogicalRAID10)
}

// LogicalProvisioning is where a logical volume is created, and how large it is.
type LogicalProvisioning struct {
	// The volume group.
	VolumeGroup string `yaml:"volumeGroup" required:"true"`
	// The least size with which the volume is created.
	MinSize value.ByteSize `yaml:"minSize,omitempty"`
	// The largest size: bytes, a percentage of the group, or, with a minus, what is left free.
	MaxSize value.Size `yaml:"maxSize,omitempty"`
}

var logicalVolume = document.Of[LVMLogicalVolumeConfig]("LVMLogicalVolumeConfig", `apiVersion: v1alpha1
kind: LVMLogicalVolumeConfig
name: lv-data
type: raid1
mirrors: 1
provisioning:
    volumeGroup: vg-pool
    minSize: 10GiB
    maxSize: 50GiB
`)

// RAIDArrayConfig joins volumes to an array that has a copy of the data on each.
type RAIDArrayConfig struct {
	document.Named `yaml:",inline"`
	// How the data are spread.
	Level RAIDLevel `yaml:"level" required:"true"`
	// The version of the superblock.
	Metadata RAIDMetadata `yaml:"metadata,omitempty"`
	// Which volumes the array has.
	Provisioning VolumeSelection `yaml:"provisioning" required:"true"`
}

// RAIDLevel is how the data of an array are spread.
type RAIDLevel string

// RAID1 has a copy on each volume.
const RAID1 RAIDLevel = "raid1"

// Values implements document.Enum.
func (RAIDLevel) Values() []string { return document.EnumOf(RAID1) }

// RAIDMetadata is the version of an array's superblock.
type RAIDMetadata string

// The versions (md(4)).
const (
	RAIDMetadata10 RAIDMetadata = "1.0"
	RAIDMetadata12 RAIDMetadata = "1.2"
)

// Values implements document.Enum.
func (RAIDMetadata) Values() []string { return document.EnumOf(RAIDMetadata10, RAIDMetadata12) }

var raid = document.Of[RAIDArrayConfig]("RAIDArrayConfig", `apiVersion: v1alpha1
kind: RAIDArrayConfig
name: md-data
level: raid1
metadata: "1.2"
provisioning:
    volumeSelector:
        match: disk.transport == "sata" && !system_disk
`)

// lvmName is what LVM allows in names, and what no shell or device mapper escapes.
var lvmName = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,126}$`)

// Validate implements document.Validator.
func (c *LVMVolumeGroupConfig) Validate(r *document.Report) { groupName(r, "name", c.DocName) }

// Validate implements document.Validator.
func (c *RAIDArrayConfig) Validate(r *document.Report) { groupName(r, "name", c.DocName) }

// Validate implements document.Validator.
func (c *LVMLogicalVolumeConfig) Validate(r *document.Report) {
	groupName(r, "name", c.DocName)
	groupName(r, "provisioning.volumeGroup", c.Provisioning.VolumeGroup)

	mirrored := c.Type == LogicalRAID1 || c.Type == LogicalRAID10
	if c.Mirrors > 0 && !mirrored {
		r.Wrong("mirrors", "is for the types %s and %s only", LogicalRAID1, LogicalRAID10)
	}

	if c.Stripes > 0 && c.Type != LogicalRAID0 && c.Type != LogicalRAID10 {
		r.Wrong("stripes", "is for the types %s and %s only", LogicalRAID0, LogicalRAID10)
	}

	if max := c.Provisioning.MaxSize; max.Percent == 0 && !max.Negative && max.Bytes > 0 && max.Bytes < c.Provisioning.MinSize {
		r.Wrong("provisioning.maxSize", "%s is less than minSize %s", max.Bytes, c.Provisioning.MinSize)
	}
}

func groupName(r *document.Report, path, text string) {
	if text != "" && !lvmName.MatchString(text) {
		r.Wrong(path, "%q is not valid: want 1 to 127 letters, digits, underscores, dots and dashes, and no dash or dot at the beginning", text)
	}
}
