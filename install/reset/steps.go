// SPDX-License-Identifier: Apache-2.0

package reset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/meta"
)

// The steps.
type (
	// wipePartition wipes the partitions of the system disk with a label.
	wipePartition struct{ label string }
	// wipeDisk wipes a disk of users.
	wipeDisk struct{ disk Disk }
	// forget deletes values of META.
	forget struct{ tags []meta.Tag }
	// emptyMeta deletes all values, with what older copies of META had.
	emptyMeta struct{}
	// wipeTable wipes the partition table of the system disk.
	wipeTable struct{}
)

// ofState are the values of META that belong to the configuration in STATE.
var ofState = []meta.Tag{meta.Trial, meta.StateEncryptionConfig, meta.Administrators}

// rank is the place of a partition in the order.
func rank(label string) int {
	switch label {
	case layout.PartitionState:
		return 0
	case layout.PartitionEphemeral:
		return 1
	case layout.PartitionBIOS, layout.PartitionBoot, layout.PartitionEFI:
		return 3
	default:
		return 2
	}
}

// Steps returns what is to be done, in order. The last step that changes META removes the record.
func (r Record) Steps() (steps []any) {
	labels := slices.DeleteFunc(slices.Clone(r.Partitions), func(label string) bool { return label == layout.PartitionMeta })
	slices.SortFunc(labels, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	labels = slices.Compact(labels)

	partitions := func(from, to int) {
		for _, label := range labels {
			if r := rank(label); r >= from && r <= to {
				steps = append(steps, wipePartition{label})
			}
		}
	}

	partitions(0, 1)

	if r.Forgets() {
		steps = append(steps, forget{ofState})
	}

	for _, d := range r.Disks {
		steps = append(steps, wipeDisk{d})
	}

	partitions(2, 3)

	if r.Wipes(layout.PartitionMeta) {
		steps = append(steps, emptyMeta{})
	} else {
		steps = append(steps, forget{[]meta.Tag{meta.Reset}})
	}

	if r.SystemDisk {
		steps = append(steps, wipeTable{})
	}

	return steps
}

// World is the machine. A wipe has reached the disk when it returns nil.
type World interface {
	// Partition wipes the partitions of the system disk with a label. It is not an error if there is none.
	Partition(ctx context.Context, label string) error
	// Disk wipes a disk of users. The error is ErrMissing if it is not there.
	Disk(ctx context.Context, d Disk) error
	// Table wipes the partition table of the system disk.
	Table(ctx context.Context) error
	// Meta returns the values of META.
	Meta() Meta
}

// Meta are the values of META.
type Meta interface {
	Delete(tag meta.Tag) error
	// Wipe deletes all values.
	Wipe() error
}

// ErrMissing is the error for a disk or partition that is not there.
var ErrMissing = errors.New("it is not there")

// Options of Run.
type Options struct {
	// Last is set when the reset must end: a disk of users that cannot be wiped is left as it is. Otherwise the record stays.
	Last bool
	// Report is told each step, with its error or nil when it begins.
	Report func(step string, err error)
}

// Run carries out the steps of a record. With an error, the record is still in META, or META is not in order itself.
func Run(ctx context.Context, r Record, w World, o Options) error {
	var left []error

	for _, step := range r.Steps() {
		if len(left) > 0 && last(step) {
			break
		}

		text := describe(step)
		if o.Report != nil {
			o.Report(text, nil)
		}

		err := do(ctx, step, w)
		if err == nil {
			continue
		}

		err = fmt.Errorf("%s: %w", text, err)
		if o.Report != nil {
			o.Report(text, err)
		}

		if _, users := step.(wipeDisk); !users {
			return fmt.Errorf("reset: %w", err)
		}

		if !o.Last {
			left = append(left, err)
		}
	}

	if len(left) > 0 {
		return fmt.Errorf("reset: %w", errors.Join(left...))
	}

	return nil
}

// last reports whether nothing can be done again after a step: what the machine boots from, or the record, is gone.
func last(step any) bool {
	switch s := step.(type) {
	case wipePartition:
		return rank(s.label) == rank(layout.PartitionEFI)
	case forget:
		return slices.Contains(s.tags, meta.Reset)
	case emptyMeta, wipeTable:
		return true
	default:
		return false
	}
}

func describe(step any) string {
	switch s := step.(type) {
	case wipePartition:
		return "wipe " + s.label
	case wipeDisk:
		return "wipe " + s.disk.Path
	case forget:
		return fmt.Sprintf("delete META keys %v", s.tags)
	case emptyMeta:
		return "wipe " + layout.PartitionMeta
	default:
		return "wipe the partition table of the system disk"
	}
}

func do(ctx context.Context, step any, w World) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	switch s := step.(type) {
	case wipePartition:
		return w.Partition(ctx, s.label)
	case wipeDisk:
		return w.Disk(ctx, s.disk)
	case forget:
		for _, tag := range s.tags {
			// An old copy for other programs prevents nothing.
			if err := w.Meta().Delete(tag); err != nil && !errors.Is(err, meta.ErrLegacyCopy) {
				return err
			}
		}

		return nil
	case emptyMeta:
		return w.Meta().Wipe()
	default:
		return w.Table(ctx)
	}
}

// Area is a device that is wiped.
type Area interface {
	// Zero overwrites each byte.
	Zero(ctx context.Context) error
	// Discard tells the device that its content is not needed.
	Discard(ctx context.Context) error
	// WipeSignatures overwrites both ends.
	WipeSignatures() error
}

// Erase wipes a device: each byte, or what makes it recognised.
func Erase(ctx context.Context, a Area, label string) error {
	if label == layout.PartitionState {
		return a.Zero(ctx)
	}

	// A discarded device may return anything, so its ends are written last. Not every device can discard.
	if err := a.Discard(ctx); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}

	return a.WipeSignatures()
}
