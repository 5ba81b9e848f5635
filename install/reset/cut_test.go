// SPDX-License-Identifier: Apache-2.0

package reset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/test/powercut"
)

const (
	mib      = 1 << 20
	diskSize = 16 * mib
)

// onDisk is a World on a disk in memory: the system disk, followed by a disk of users.
type onDisk struct {
	disk interface {
		io.ReaderAt
		io.WriterAt
		Sync() error
	}
	table  *gpt.Table
	values *meta.Store
	user   Disk
	// dead is a label or path that cannot be written.
	dead string
}

// area is a part of the disk.
type area struct {
	w            *onDisk
	offset, size int64
}

func (a area) ReadAt(b []byte, off int64) (int, error) { return a.w.disk.ReadAt(b, a.offset+off) }

func (a area) WriteAt(b []byte, off int64) (int, error) { return a.w.disk.WriteAt(b, a.offset+off) }

func (a area) Sync() error { return a.w.disk.Sync() }

func (a area) Zero(context.Context) error {
	if _, err := a.WriteAt(make([]byte, a.size), 0); err != nil {
		return err
	}

	return a.Sync()
}

// Discard leaves anything.
func (a area) Discard(context.Context) error {
	_, err := a.WriteAt(bytes.Repeat([]byte("discarded"), 1000), 512)

	return err
}

func (a area) WipeSignatures() error {
	end := min(a.size, 64<<10)

	for _, off := range []int64{0, a.size - end} {
		if _, err := a.WriteAt(make([]byte, end), off); err != nil {
			return err
		}
	}

	return a.Sync()
}

func (w *onDisk) partition(label string) (area, bool) {
	p, there := w.table.Find(label)

	return area{w, int64(p.First * 512), int64(p.Sectors() * 512)}, there
}

var errDead = errors.New("input/output error")

func (w *onDisk) Partition(ctx context.Context, label string) error {
	a, there := w.partition(label)

	switch {
	case label == w.dead:
		return errDead
	case !there:
		return nil
	default:
		return Erase(ctx, a, label)
	}
}

func (w *onDisk) Disk(ctx context.Context, d Disk) error {
	switch {
	case d.Path == w.dead:
		return errDead
	case !d.Is(w.user):
		return ErrMissing
	default:
		return Erase(ctx, area{w, diskSize, mib}, "")
	}
}

func (w *onDisk) Table(context.Context) error { return area{w, 0, diskSize}.WipeSignatures() }

func (w *onDisk) Meta() Meta { return w.values }

// remains returns what a disk still has: the starts of partitions that hold something, whether it boots, and the record.
func (w *onDisk) remains(t *testing.T) (full []string, boots bool, record Record, there bool) {
	t.Helper()

	start := make([]byte, 512)

	for _, label := range labels {
		a, has := w.partition(label)
		if !has {
			continue
		}

		if _, err := a.ReadAt(start, 0); err != nil {
			t.Fatal(err)
		}

		if strings.HasPrefix(string(start), "content of ") {
			full = append(full, label)
		}
	}

	if _, err := w.disk.ReadAt(start, diskSize); err != nil {
		t.Fatal(err)
	}

	if strings.HasPrefix(string(start), "content of ") {
		full = append(full, "user")
	}

	table, err := gpt.Read(w.disk, diskSize, 512)
	boots = err == nil && slices.Contains(full, layout.PartitionEFI)

	if err != nil {
		return full, boots, record, false
	}

	_, has := table.Find(layout.PartitionMeta)
	if !has {
		t.Fatal("the table has lost META")
	}

	store, err := meta.Open(w.metaArea())
	if err != nil {
		t.Fatalf("META: %v", err)
	}

	w.values = store
	text, _ := store.Get(meta.Reset)

	record, there, err = Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	return full, boots, record, there
}

func (w *onDisk) metaArea() area {
	a, _ := w.partition(layout.PartitionMeta)

	return a
}

// newWorld returns a machine with content everywhere.
func newWorld(t *testing.T) (*onDisk, *powercut.Disk) {
	t.Helper()

	table, err := gpt.New(diskSize, 512)
	if err != nil {
		t.Fatal(err)
	}

	for _, label := range []string{layout.PartitionEFI, layout.PartitionMeta, layout.PartitionState, layout.PartitionImageCache, layout.PartitionEphemeral} {
		if _, err := table.Add(gpt.Partition{Label: label, Type: gpt.TypeLinuxData}, mib, mib); err != nil {
			t.Fatal(err)
		}
	}

	d := powercut.New(diskSize + mib)
	w := &onDisk{disk: d, table: table, user: Disk{Path: "/dev/vdb", Serial: "one", Size: mib}}

	if err := table.Write(d); err != nil {
		t.Fatal(err)
	}

	for _, label := range labels {
		if a, there := w.partition(label); there && label != layout.PartitionMeta {
			if _, err := a.WriteAt([]byte("content of "+label), 0); err != nil {
				t.Fatal(err)
			}

			// A secret in the middle.
			if _, err := a.WriteAt([]byte("secret"), mib/2); err != nil {
				t.Fatal(err)
			}
		}
	}

	if _, err := d.WriteAt([]byte("content of the user"), diskSize); err != nil {
		t.Fatal(err)
	}

	if w.values, err = meta.Open(w.metaArea()); err != nil {
		t.Fatal(err)
	}

	for _, tag := range []meta.Tag{meta.Administrators, meta.UserReserved1} {
		if err := w.values.Set(tag, []byte("value of "+tag.String())); err != nil {
			t.Fatal(err)
		}
	}

	d.Forget()

	return w, d
}

// TestAnyCut cuts the power at any write of a reset. The disk is as before, or the next boot goes on, or there is nothing left to be wiped. What
// is not wiped stays.
func TestAnyCut(t *testing.T) {
	user := Disk{Path: "/dev/vdb", Serial: "one", Size: mib}
	whole := []string{layout.PartitionEFI, layout.PartitionMeta, layout.PartitionState, layout.PartitionImageCache, layout.PartitionEphemeral}

	for _, tt := range []struct {
		name   string
		record Record
		stays  []string
	}{
		{"everything", Record{Partitions: whole, SystemDisk: true, Disks: []Disk{user}}, nil},
		{"back to maintenance", Record{Partitions: []string{"STATE", "EPHEMERAL"}, Reboot: true}, []string{"EFI", "IMAGECACHE", "user"}},
		{"EPHEMERAL", Record{Partitions: []string{"EPHEMERAL"}}, []string{"EFI", "STATE", "IMAGECACHE", "user"}},
		{"META and STATE", Record{Partitions: []string{"META", "STATE"}}, []string{"EFI", "EPHEMERAL", "IMAGECACHE", "user"}},
		{"a disk of users", Record{Disks: []Disk{user}}, []string{"EFI", "STATE", "EPHEMERAL", "IMAGECACHE"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, d := newWorld(t)
			all, _, _, _ := w.remains(t)

			text, err := tt.record.Encode()
			if err != nil {
				t.Fatal(err)
			}

			if err := w.values.Set(meta.Reset, text); err != nil {
				t.Fatal(err)
			}

			if err := Run(t.Context(), tt.record, w, Options{}); err != nil {
				t.Fatal(err)
			}

			seen, states := map[string]int{}, 0

			for s := range d.States(rand.New(rand.NewPCG(14, 6)), 8) {
				states++
				after := &onDisk{disk: s, table: w.table, user: w.user}
				full, boots, record, there := after.remains(t)
				at := fmt.Sprintf("after %d flushes, %d sectors kept", s.Flushes, s.Kept)

				switch {
				case there && boots:
					seen["goes on"]++

					if err := Run(t.Context(), record, after, Options{Last: true}); err != nil {
						t.Fatalf("%s: %v", at, err)
					}

					full, _, _, there = after.remains(t)
				case there:
					seen["boots no more"]++
					there = false // the rest is not found by anyone
				case slices.Equal(full, all):
					seen["as before"]++

					if s.Flushes > 1 {
						t.Fatalf("%s: nothing was wiped, and there is no record", at)
					}

					continue
				default:
					seen["done"]++
				}

				slices.Sort(full)

				want := slices.Sorted(slices.Values(tt.stays))
				if there || !slices.Equal(full, want) {
					t.Fatalf("%s: got %v left, record: %t, want %v and none", at, full, there, want)
				}

				if tt.record.Forgets() {
					after.noSecret(t, at)
				}
			}

			for _, want := range []string{"as before", "goes on", "done"} {
				if seen[want] == 0 {
					t.Errorf("no state is %q: %v", want, seen)
				}
			}

			t.Log(states, seen)
		})
	}
}

// noSecret checks that STATE has nothing, and that strangers are let in after it.
func (w *onDisk) noSecret(t *testing.T, at string) {
	t.Helper()

	a, _ := w.partition(layout.PartitionState)
	b := make([]byte, a.size)

	if _, err := a.ReadAt(b, 0); err != nil || len(bytes.Trim(b, "\x00")) > 0 {
		t.Fatalf("%s: STATE is not empty, %v", at, err)
	}

	if w.values == nil {
		return // its partition is gone
	}

	if _, there := w.values.Get(meta.Administrators); there {
		t.Fatalf("%s: META has the administrators", at)
	}
}

// TestValues: META keeps what is not of the configuration, unless it is wiped itself.
func TestValues(t *testing.T) {
	for _, tt := range []struct {
		partitions []string
		want       bool
	}{{[]string{"STATE"}, true}, {[]string{"STATE", "META"}, false}} {
		w, _ := newWorld(t)
		if err := Run(t.Context(), Record{Partitions: tt.partitions}, w, Options{}); err != nil {
			t.Fatal(err)
		}

		if _, got := w.values.Get(meta.UserReserved1); got != tt.want {
			t.Errorf("%v: META has the value of the user: %t, want %t", tt.partitions, got, tt.want)
		}

		if w.noSecret(t, fmt.Sprint(tt.partitions)); tt.want {
			continue
		}

		a := w.metaArea()
		b := make([]byte, a.size)

		if _, err := a.ReadAt(b, 0); err != nil || len(bytes.Trim(b, "\x00")) > 0 {
			t.Errorf("%v: META is not all zeros, %v", tt.partitions, err)
		}
	}
}

// TestFailures: what cannot be wiped keeps the record, and the machine bootable. A disk of users does so until the last attempt.
func TestFailures(t *testing.T) {
	user := Disk{Path: "/dev/vdb", Serial: "one", Size: mib}
	gone := Disk{Path: "/dev/vdc", Serial: "two", Size: mib}

	for _, tt := range []struct {
		name, dead string
		disks      []Disk
		last       bool
		want       string
		left       string
	}{
		{"STATE", "STATE", nil, true, "reset: wipe STATE: input/output error", "[EFI STATE EPHEMERAL IMAGECACHE user] record"},
		{"a disk of users", "/dev/vdb", []Disk{user, gone}, false, "reset: wipe /dev/vdb: input/output error\nwipe /dev/vdc: it is not there", "[EFI IMAGECACHE user] record"},
		{"a disk of users, at last", "/dev/vdb", []Disk{user, gone}, true, "", "[EFI IMAGECACHE user]"},
	} {
		w, _ := newWorld(t)
		w.dead = tt.dead
		record := Record{Partitions: []string{"STATE", "EPHEMERAL"}, Disks: tt.disks}

		text, err := record.Encode()
		if err != nil {
			t.Fatal(err)
		}

		if err := w.values.Set(meta.Reset, text); err != nil {
			t.Fatal(err)
		}

		var failed []string

		got := ""
		if err := Run(t.Context(), record, w, Options{Last: tt.last, Report: func(step string, err error) {
			if err != nil {
				failed = append(failed, step)
			}
		}}); err != nil {
			got = err.Error()
		}

		full, _, _, there := w.remains(t)

		left := fmt.Sprint(full)
		if there {
			left += " record"
		}

		if got != tt.want || left != tt.left || len(failed) == 0 {
			t.Errorf("%s: got %q, left %s, failed %v; want %q, left %s", tt.name, got, left, failed, tt.want, tt.left)
		}
	}
}
