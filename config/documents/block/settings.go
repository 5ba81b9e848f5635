// SPDX-License-Identifier: Apache-2.0

package block

import (
	"regexp"
	"time"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// Provisioning is where a volume is created, and how large it is.
type Provisioning struct {
	// What selects the disk.
	DiskSelector *DiskSelector `yaml:"diskSelector,omitempty"`
	// Whether the volume grows with the space behind it.
	Grow *bool `yaml:"grow,omitempty"`
	// The least size with which the volume is created.
	MinSize value.ByteSize `yaml:"minSize,omitempty"`
	// The largest size: bytes, a percentage of the disk, or, with a minus, what is left free.
	MaxSize value.Size `yaml:"maxSize,omitempty"`
}

// DiskSelector selects disks.
type DiskSelector struct {
	// A CEL expression over disk (its properties) and system_disk, which is true for disks that may have the volume.
	Match value.DiskExpression `yaml:"match" required:"true"`
}

// VolumeSelector selects volumes that exist.
type VolumeSelector struct {
	// A CEL expression over volume and disk, which is true for the volume that is meant.
	Match value.VolumeExpression `yaml:"match" required:"true"`
}

func (p *Provisioning) validate(r *document.Report) {
	if max := p.MaxSize; max.Percent == 0 && !max.Negative && max.Bytes > 0 && max.Bytes < p.MinSize {
		r.Wrong("provisioning.maxSize", "%s is less than minSize %s", max.Bytes, p.MinSize)
	}
}

// partition checks the settings of a new partition.
func (p *Provisioning) partition(r *document.Report) {
	p.validate(r)
	p.needsDisk(r)
}

func (p *Provisioning) needsDisk(r *document.Report) {
	if p.DiskSelector == nil {
		r.Wrong("provisioning.diskSelector", "is missing: it says which disk has the partition")
	}
}

// Maintenance is regular care of a file system.
type Maintenance struct {
	// Whether it takes place.
	Enabled *bool `yaml:"enabled,omitempty"`
	// How much time passes in between; that of the document for all file systems without it.
	Interval time.Duration `yaml:"interval,omitempty"`
}

// FilesystemTrimConfig says how often file systems tell their disks which blocks they do not use.
type FilesystemTrimConfig struct {
	document.Header `yaml:",inline"`
	// How much time passes in between.
	Interval time.Duration `yaml:"interval" required:"true"`
}

var trim = document.Of[FilesystemTrimConfig]("FilesystemTrimConfig", `apiVersion: v1alpha1
kind: FilesystemTrimConfig
interval: 168h
`)

// FilesystemScrubConfig says how often XFS file systems are checked while they are mounted.
type FilesystemScrubConfig struct {
	document.Header `yaml:",inline"`
	// How much time passes in between.
	Interval time.Duration `yaml:"interval" required:"true"`
}

var scrub = document.Of[FilesystemScrubConfig]("FilesystemScrubConfig", `apiVersion: v1alpha1
kind: FilesystemScrubConfig
interval: 720h
`)

// leastInterval is the least time between two rounds of maintenance.
const leastInterval = 10 * time.Second

// Validate implements document.Validator.
func (c *FilesystemTrimConfig) Validate(r *document.Report) { interval(r, "interval", c.Interval) }

// Validate implements document.Validator.
func (c *FilesystemScrubConfig) Validate(r *document.Report) { interval(r, "interval", c.Interval) }

func interval(r *document.Report, path string, d time.Duration) {
	if d != 0 && d < leastInterval {
		r.Wrong(path, "%v is too short: want %v at least", d, leastInterval)
	}
}

// volumeName is what the name of a volume may be: it becomes a part of a partition's label, which has 36 characters.
var volumeName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,32}[a-zA-Z0-9])?$`)

func name(r *document.Report, text string) {
	if !volumeName.MatchString(text) {
		r.Wrong("name", "%q is not the name of a volume: want 1 to 34 letters, digits and inner dashes", text)
	}
}
