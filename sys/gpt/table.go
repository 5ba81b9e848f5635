// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/google/uuid"
)

// Alignment is that of the partitions that Add creates, in bytes: it suits every disk and every tool.
const Alignment = 1 << 20

// MaxLabel is the length of the longest partition label, in UTF-16 units.
const MaxLabel = 36

// Partition is a used entry. First and Last are inclusive.
type Partition struct {
	// Number from 1: the index of the entry.
	Number int
	Type   GUID
	ID     GUID
	Label  string
	First  uint64
	Last   uint64
	// Attributes as on disk: bit 0 required by the platform, bit 2 legacy BIOS bootable.
	Attributes uint64
}

// Sectors returns the number of sectors.
func (p Partition) Sectors() uint64 { return p.Last - p.First + 1 }

// Table is the partitioning of one disk.
type Table struct {
	ID         GUID
	SectorSize uint64
	// Sectors is the number of sectors of the disk.
	Sectors uint64
	// Partitions are in the order of their entries.
	Partitions []Partition
	// Repair is what is wrong with one of the copies on disk, or empty. Write repairs it.
	Repair string
}

// Errors of planning.
var (
	// ErrNoSpace is the error for a partition that is larger than any gap.
	ErrNoSpace = errors.New("not enough free space on the disk")
	// ErrNotFound is the error for a partition number without an entry.
	ErrNotFound = errors.New("no such partition")
)

// New returns an empty table for a disk of the size in bytes.
func New(size, sectorSize uint64) (*Table, error) {
	t := &Table{ID: uuid.New(), SectorSize: sectorSize, Sectors: size / max(sectorSize, 1)}

	return t, t.check()
}

// entrySectors returns the number of sectors of one copy of the entries.
func (t *Table) entrySectors() uint64 { return entryCount * entrySize / t.SectorSize }

// FirstUsable returns the first sector for partitions.
func (t *Table) FirstUsable() uint64 { return 2 + t.entrySectors() }

// LastUsable returns the last sector for partitions.
func (t *Table) LastUsable() uint64 { return t.Sectors - 2 - t.entrySectors() }

// Find returns the partition with a label.
func (t *Table) Find(label string) (Partition, bool) {
	i := slices.IndexFunc(t.Partitions, func(p Partition) bool { return p.Label == label })
	if i < 0 {
		return Partition{}, false
	}

	return t.Partitions[i], true
}

// Extent is a run of free sectors, inclusive.
type Extent struct{ First, Last uint64 }

// Free returns the gaps between partitions, aligned at their start, in disk order.
func (t *Table) Free() []Extent {
	used := slices.Clone(t.Partitions)
	slices.SortFunc(used, func(a, b Partition) int { return cmp.Compare(a.First, b.First) })

	var gaps []Extent

	next := t.FirstUsable()

	for _, p := range append(used, Partition{First: t.LastUsable() + 1}) {
		start := t.align(next)
		if start < p.First {
			gaps = append(gaps, Extent{start, p.First - 1})
		}

		next = p.Last + 1
	}

	return gaps
}

func (t *Table) align(sector uint64) uint64 {
	n := max(Alignment/t.SectorSize, 1)

	return (sector + n - 1) / n * n
}

// Add adds a partition at the start of the first gap of at least minSize bytes, with up to maxSize bytes of it (0 is all), and sets its
// number. A zero ID is replaced by a random one.
func (t *Table) Add(p Partition, minSize, maxSize uint64) (Partition, error) {
	for _, gap := range t.Free() {
		length := gap.Last - gap.First + 1
		if length*t.SectorSize < max(minSize, 1) {
			continue
		}

		if maxSize > 0 {
			length = min(length, max(maxSize/t.SectorSize, 1))
		}

		p.First, p.Last, p.Number = gap.First, gap.First+length-1, t.freeNumber()
		if p.ID == uuid.Nil {
			p.ID = uuid.New()
		}

		next := *t
		next.Partitions = append(slices.Clone(t.Partitions), p)

		if err := next.check(); err != nil {
			return Partition{}, err
		}

		t.Partitions = next.Partitions

		return p, nil
	}

	return Partition{}, fmt.Errorf("partition %q of %d MiB: %w", p.Label, minSize>>20, ErrNoSpace)
}

func (t *Table) freeNumber() int {
	for n := 1; ; n++ {
		if !slices.ContainsFunc(t.Partitions, func(p Partition) bool { return p.Number == n }) {
			return n
		}
	}
}

// Grow extends a partition over the free space after it, up to maxSize bytes (0 is all), and returns it. If there is less free space than
// the alignment, it is not changed.
func (t *Table) Grow(number int, maxSize uint64) (p Partition, grown bool, err error) {
	i := slices.IndexFunc(t.Partitions, func(p Partition) bool { return p.Number == number })
	if i < 0 {
		return Partition{}, false, fmt.Errorf("grow partition %d: %w", number, ErrNotFound)
	}

	p = t.Partitions[i]
	end := t.LastUsable()

	for _, o := range t.Partitions {
		if o.First > p.Last {
			end = min(end, o.First-1)
		}
	}

	if maxSize > 0 {
		end = min(end, p.First+max(maxSize/t.SectorSize, 1)-1)
	}

	if end < p.Last+Alignment/t.SectorSize {
		return p, false, nil
	}

	t.Partitions = slices.Clone(t.Partitions)
	t.Partitions[i].Last = end

	return t.Partitions[i], true, nil
}

// Delete removes a partition from the table.
func (t *Table) Delete(number int) error {
	n := len(t.Partitions)
	t.Partitions = slices.DeleteFunc(slices.Clone(t.Partitions), func(p Partition) bool { return p.Number == number })

	if len(t.Partitions) == n {
		return fmt.Errorf("delete partition %d: %w", number, ErrNotFound)
	}

	return nil
}

// check returns an error if a table, read or planned, is not valid.
func (t *Table) check() error {
	if t.SectorSize != 512 && t.SectorSize != 4096 {
		return fmt.Errorf("partition table: sector size %d is not supported (want 512 or 4096)", t.SectorSize)
	}

	if t.Sectors < 2*t.FirstUsable() {
		return fmt.Errorf("partition table: a disk of %d sectors is too small", t.Sectors)
	}

	for i, p := range t.Partitions {
		switch {
		case p.Number < 1 || p.Number > entryCount:
			return fmt.Errorf("partition %d: number is not within 1 and %d", p.Number, entryCount)
		case p.Type == uuid.Nil:
			return fmt.Errorf("partition %d: has no type", p.Number)
		case len(utf16.Encode([]rune(p.Label))) > MaxLabel:
			return fmt.Errorf("partition %d: label %q is longer than %d characters", p.Number, p.Label, MaxLabel)
		case p.First > p.Last || p.First < t.FirstUsable() || p.Last > t.LastUsable():
			return fmt.Errorf("partition %d: sectors %d–%d are not within the usable %d–%d",
				p.Number, p.First, p.Last, t.FirstUsable(), t.LastUsable())
		}

		for _, o := range t.Partitions[:i] {
			if o.Number == p.Number {
				return fmt.Errorf("partition %d: the number is used twice", p.Number)
			}

			if o.First <= p.Last && p.First <= o.Last {
				return fmt.Errorf("partitions %d and %d overlap", o.Number, p.Number)
			}
		}
	}

	return nil
}
