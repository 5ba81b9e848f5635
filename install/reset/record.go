// SPDX-License-Identifier: Apache-2.0

package reset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/layout"
)

// Disk is a disk of users. Its path may be another one after the next boot, so it is found by what identifies it.
type Disk struct {
	Path string `json:"path"`
	// WWID, Serial and UUID are what the disk says about itself, and BusPath is where it is connected.
	WWID    string `json:"wwid,omitempty"`
	Serial  string `json:"serial,omitempty"`
	UUID    string `json:"uuid,omitempty"`
	BusPath string `json:"busPath,omitempty"`
	Size    uint64 `json:"size"`
}

// Is reports whether a disk that was found is this one. A disk that says nothing about itself is the one of the same size at the same place.
func (d Disk) Is(found Disk) bool {
	if d.Size != found.Size {
		return false
	}

	if d.WWID+d.Serial+d.UUID != "" {
		return d.WWID == found.WWID && d.Serial == found.Serial && d.UUID == found.UUID
	}

	return d.Path == found.Path && d.BusPath == found.BusPath && found.WWID+found.Serial+found.UUID == ""
}

// Record is what a reset wipes, and what follows.
type Record struct {
	// By is who has asked for it.
	By string `json:"by,omitempty"`
	// Partitions are the labels of partitions of the system disk.
	Partitions []string `json:"partitions,omitempty"`
	// SystemDisk is set when its partition table is wiped, too. Partitions then has all of them.
	SystemDisk bool `json:"systemDisk,omitempty"`
	// Disks are disks of users.
	Disks []Disk `json:"disks,omitempty"`
	// Reboot is set when the machine reboots afterwards. Otherwise it is switched off.
	Reboot bool `json:"reboot,omitempty"`
}

// Wipes reports whether a partition is wiped.
func (r Record) Wipes(label string) bool { return slices.Contains(r.Partitions, label) }

// Forgets reports whether the machine loses its configuration and its identity.
func (r Record) Forgets() bool { return r.Wipes(layout.PartitionState) }

// LosesEtcd reports whether the machine loses its data of etcd, or the configuration without which it has no use for that.
func (r Record) LosesEtcd() bool { return r.Forgets() || r.Wipes(layout.PartitionEphemeral) }

// String lists what is wiped.
func (r Record) String() string {
	var all []string

	if r.SystemDisk {
		all = append(all, "the system disk")
	} else {
		all = append(all, r.Partitions...)
	}

	for _, d := range r.Disks {
		all = append(all, d.Path)
	}

	return strings.Join(all, ", ")
}

// The limits of a record.
const (
	maxRecord = 32 << 10
	maxNames  = 128 // the entries of a partition table
)

// format is the number of the format of records. A version that changes the meaning of a field changes it.
const format = 1

type stored struct {
	Format int `json:"format"`
	Record
}

// Encode returns the record as it is kept in META.
func (r Record) Encode() ([]byte, error) {
	err := r.check()

	var b []byte
	if err == nil {
		b, err = json.Marshal(stored{format, r})
	}

	if err == nil && len(b) > maxRecord {
		err = fmt.Errorf("%d bytes, at most %d are allowed: name fewer disks", len(b), maxRecord)
	}

	if err != nil {
		return nil, fmt.Errorf("encode the record of a reset: %w", err)
	}

	return b, nil
}

// Decode reads a record. There is none in no bytes.
func Decode(b []byte) (r Record, there bool, err error) {
	if len(b) == 0 {
		return Record{}, false, nil
	}

	if len(b) > maxRecord {
		return Record{}, false, fmt.Errorf("decode the record of a reset: %d bytes, at most %d are allowed", len(b), maxRecord)
	}

	var s stored

	err = json.Unmarshal(b, &s)
	if err == nil && s.Format != format {
		err = fmt.Errorf("format %d is not known (want %d)", s.Format, format)
	}

	if err == nil {
		err = s.check()
	}

	if err != nil {
		return Record{}, false, fmt.Errorf("decode the record of a reset: %w", err)
	}

	return s.Record, true, nil
}

func (r Record) check() error {
	switch {
	case len(r.Partitions)+len(r.Disks) == 0:
		return errors.New("it wipes nothing")
	case len(r.Partitions) > maxNames || len(r.Disks) > maxNames:
		return fmt.Errorf("%d partitions and %d disks, at most %d of each are allowed", len(r.Partitions), len(r.Disks), maxNames)
	case slices.Contains(r.Partitions, ""):
		return errors.New("a partition has no label")
	case r.SystemDisk && !r.Wipes(layout.PartitionMeta):
		return fmt.Errorf("the system disk is wiped without %s", layout.PartitionMeta)
	case slices.ContainsFunc(r.Disks, func(d Disk) bool { return d.Path == "" || d.Size == 0 }):
		return errors.New("a disk has no path or no size")
	}

	return nil
}
