// SPDX-License-Identifier: Apache-2.0

package block

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/layout"
)

// VolumeConfig sets up a volume of the system: STATE, EPHEMERAL, IMAGECACHE, ETCD, CRI, KUBELET or LOG. Its name is that of the volume.
type VolumeConfig struct {
	document.Named `yaml:",inline"`
	// Where the volume is created, and how large it is.
	Provisioning Provisioning `yaml:"provisioning,omitempty"`
	// The file system.
	Filesystem SystemFilesystem `yaml:"filesystem,omitempty"`
	// How the volume is encrypted.
	Encryption *Encryption `yaml:"encryption,omitempty" protects:"true"`
	// How the volume is mounted.
	Mount MountOptions `yaml:"mount,omitempty"`
	// Regular trimming of this volume.
	Trim *Maintenance `yaml:"trim,omitempty"`
	// Regular checking of this volume.
	Scrub *Maintenance `yaml:"scrub,omitempty"`
}

// SystemFilesystem is the file system of a volume of the system: always XFS.
type SystemFilesystem struct {
	// Settings of XFS.
	XFS *XFS `yaml:"xfs,omitempty"`
}

// XFS has settings of an XFS file system.
type XFS struct {
	// The least size of an allocation group.
	MinAllocationGroupSize value.ByteSize `yaml:"minAllocationGroupSize,omitempty"`
}

// MountOptions are how a volume is mounted.
type MountOptions struct {
	// Whether reading a file does not change its access time.
	DisableAccessTime *bool `yaml:"disableAccessTime,omitempty"`
	// Whether device files, set-user-ID bits and programs have no effect (nodev, nosuid, noexec).
	Secure *bool `yaml:"secure,omitempty"`
}

var volume = document.Of[VolumeConfig]("VolumeConfig", `apiVersion: v1alpha1
kind: VolumeConfig
name: `+layout.PartitionEphemeral+`
provisioning:
    diskSelector:
        match: disk.transport == "nvme" && !system_disk
    maxSize: 100GiB
mount:
    secure: true
`, document.Replaces("machine.systemDiskEncryption"))

// systemVolumes are the volumes that a VolumeConfig is for, and folders those of them that are folders of EPHEMERAL in this version.
var (
	folders       = []string{"ETCD", "CRI", "KUBELET", "LOG"}
	systemVolumes = append([]string{layout.PartitionState, layout.PartitionEphemeral, layout.PartitionImageCache}, folders...)
)

// Replaces implements document.Replacer: the keys are about the encryption of one volume each.
func (c *VolumeConfig) Replaces() []string {
	switch {
	case c.Encryption != nil && c.DocName == layout.PartitionState:
		return []string{"machine.systemDiskEncryption.state"}
	case c.Encryption != nil && c.DocName == layout.PartitionEphemeral:
		return []string{"machine.systemDiskEncryption.ephemeral"}
	default:
		return nil
	}
}

// Validate implements document.Validator.
func (c *VolumeConfig) Validate(r *document.Report) {
	if !slices.Contains(systemVolumes, c.DocName) {
		r.Wrong("name", "%q is not a volume of the system: want one of %s", c.DocName, strings.Join(systemVolumes, ", "))
	}

	c.Provisioning.validate(r)
	c.Encryption.validate(r)
	maintenance(r, c.Trim, c.Scrub)

	if c.Trim != nil && slices.Contains(folders, c.DocName) {
		r.Warn("trim", "has no effect: in this version the volume is a folder of %s, which has a document of its own", layout.PartitionEphemeral)
	}

	if c.DocName == layout.PartitionState && c.Encryption != nil {
		for i, key := range c.Encryption.Keys {
			if key.LockToState {
				r.Wrong(index("encryption.keys", i)+".lockToState", "is for other volumes: the secret is on %s itself", layout.PartitionState)
			}
		}
	}
}

func maintenance(r *document.Report, trim, scrub *Maintenance) {
	if trim != nil {
		interval(r, "trim.interval", trim.Interval)
	}

	if scrub != nil {
		interval(r, "scrub.interval", scrub.Interval)
	}
}

// index returns the path of an element of a list.
func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
