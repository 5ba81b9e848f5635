// SPDX-License-Identifier: Apache-2.0

package reset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mode is what is wiped when nothing more is named.
type Mode uint8

// The modes.
const (
	All Mode = iota
	SystemDisk
	UserDisks
)

// Request is what a caller wants.
type Request struct {
	By   string
	Mode Mode
	// Partitions are labels of the system disk; without any the whole system disk is wiped.
	Partitions []string
	// Disks are the paths of disks of users.
	Disks  []string
	Reboot bool
}

// Seen is what the machine has.
type Seen struct {
	// Partitions are the labels of the system disk, empty if there is none. A machine without disks has volumes that are folders.
	Partitions []string
	// Folders is set on a machine without disks.
	Folders bool
	// SystemDisk is the path of the system disk.
	SystemDisk string
	Disks      []SeenDisk
}

// SeenDisk is a disk, or another block device that is not a partition.
type SeenDisk struct {
	Disk
	// Names are all its paths, such as /dev/disk/by-id/…
	Names []string
	// Unfit is why it cannot be wiped.
	Unfit string
}

// The errors of Choose.
var (
	// ErrInvalid is the error of a request that no machine can carry out.
	ErrInvalid = errors.New("invalid")
	// ErrUnfit is the error for a machine or a disk that is not in the right state.
	ErrUnfit = errors.New("not now")
)

// refusal is an error with a kind, which is not a part of its text.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return "reset: " + r.text }

// Unwrap returns ErrInvalid, ErrMissing or ErrUnfit.
func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

// Choose returns the record of a reset, or why it cannot be done. The error wraps ErrInvalid, ErrMissing or ErrUnfit.
func Choose(q Request, seen Seen) (Record, error) {
	r := Record{By: q.By, Reboot: q.Reboot}

	switch {
	case q.Mode > UserDisks:
		return Record{}, refuse(ErrInvalid, "wipe mode %d is unknown to this version", q.Mode)
	case q.Mode == UserDisks && len(q.Partitions) > 0:
		return Record{}, refuse(ErrInvalid, "the mode user-disks wipes no partitions of the system disk: leave out --system-labels-to-wipe, or use the mode all")
	case q.Mode == UserDisks && len(q.Disks) == 0:
		return Record{}, refuse(ErrInvalid, "the mode user-disks wipes the disks that are named: name one with --user-disks-to-wipe")
	case q.Mode == SystemDisk && len(q.Disks) > 0:
		return Record{}, refuse(ErrInvalid, "the mode system-disk wipes no other disks: leave out --user-disks-to-wipe, or use the mode all")
	}

	if q.Mode != UserDisks {
		if err := r.choosePartitions(q.Partitions, seen); err != nil {
			return Record{}, err
		}
	}

	for _, path := range q.Disks {
		d, err := seen.choose(path)
		if err != nil {
			return Record{}, err
		}

		if !slices.Contains(r.Disks, d) {
			r.Disks = append(r.Disks, d)
		}
	}

	return r, r.check()
}

func (r *Record) choosePartitions(labels []string, seen Seen) error {
	if len(seen.Partitions) == 0 {
		return refuse(ErrUnfit, "no system disk was found, so there is nothing to wipe on it; see: talosctl get systemdisks")
	}

	if len(labels) == 0 {
		r.Partitions, r.SystemDisk = unique(seen.Partitions), !seen.Folders

		return nil
	}

	for _, label := range labels {
		if !slices.Contains(seen.Partitions, label) {
			return refuse(ErrMissing, "there is no partition %q to wipe: there are %s", label, strings.Join(unique(seen.Partitions), ", "))
		}
	}

	r.Partitions = unique(labels)

	return nil
}

func unique(labels []string) []string { return slices.Compact(slices.Sorted(slices.Values(labels))) }

func (s Seen) choose(path string) (Disk, error) {
	if s.Folders {
		return Disk{}, refuse(ErrUnfit, "disk %s: a container has no disks of its own", path)
	}

	if !strings.HasPrefix(path, "/") {
		path = "/dev/" + path
	}

	i := slices.IndexFunc(s.Disks, func(d SeenDisk) bool { return d.Path == path || slices.Contains(d.Names, path) })

	switch {
	case i < 0:
		return Disk{}, refuse(ErrMissing, "there is no disk %s; see: talosctl get disks", path)
	case s.Disks[i].Path == s.SystemDisk:
		return Disk{}, refuse(ErrInvalid, "%s is the system disk, which the modes all and system-disk wipe", path)
	case s.Disks[i].Unfit != "":
		return Disk{}, refuse(ErrUnfit, "disk %s: %s", path, s.Disks[i].Unfit)
	}

	return s.Disks[i].Disk, nil
}
