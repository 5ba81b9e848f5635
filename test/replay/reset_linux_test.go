// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/test/replay"
)

// resetting is the World of a reset on the devices of a recorder, as that of package controllers/block is on those of a machine.
type resetting struct {
	r      *replay.Recorder
	table  *gpt.Table
	values *meta.Store
	// keeps is the device of META, which stays open.
	keeps *os.File
}

// with calls fn with a device of a partition, or of the whole disk.
func (w *resetting) with(offset, size int64, fn func(f *disk.File) error) error {
	path, closed := w.r.Device(offset, size)
	defer closed()

	f, err := disk.OpenUnused(path)
	if err != nil {
		return err
	}

	return errors.Join(fn(f), f.Close())
}

func (w *resetting) bounds(label string) (offset, size int64) {
	p, _ := w.table.Find(label)

	return int64(p.First * 512), int64(p.Sectors() * 512)
}

func (w *resetting) Partition(ctx context.Context, label string) error {
	offset, size := w.bounds(label)

	return w.with(offset, size, func(f *disk.File) error { return reset.Erase(ctx, f, label) })
}

func (w *resetting) Disk(context.Context, reset.Disk) error { return reset.ErrMissing }

func (w *resetting) Table(context.Context) error {
	return w.with(0, diskSize, func(f *disk.File) error { return f.WipeSignatures() })
}

func (w *resetting) Meta() reset.Meta { return w.values }

// secret is what STATE and EPHEMERAL are full of.
var secret = []byte("secret of the cluster, 32 bytes.")

// fill makes the volumes of a machine, as the volume manager does: the partitions after the last one, with content.
func (w *resetting) fill(t *testing.T) {
	t.Helper()

	for _, v := range []struct {
		label string
		size  uint64
	}{{layout.PartitionState, layout.StateSize}, {layout.PartitionEphemeral, 0}} {
		if _, err := w.table.Add(gpt.Partition{Label: v.label, Type: gpt.TypeLinuxData}, mib, v.size); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.with(0, diskSize, func(f *disk.File) error { return w.table.Write(f) }); err != nil {
		t.Fatal(err)
	}

	for _, label := range []string{layout.PartitionState, layout.PartitionEphemeral} {
		offset, size := w.bounds(label)
		content := bytes.Repeat(secret, 4*mib/len(secret))

		if err := w.with(offset, size, func(f *disk.File) error {
			for _, at := range []int64{0, size/2 - size/2%512, size - int64(len(content))} {
				if _, err := f.WriteAt(content, at); err != nil {
					return err
				}
			}

			return f.Sync()
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReset records resets of a machine's disk: of its whole disk, and of its volumes only. Whenever the power is cut, one of these holds: the
// next boot finds the record in META, and has a whole boot entry to go on; the reset is done; or the machine does not boot, and no secret is
// left that a reset overwrites.
func TestReset(t *testing.T) {
	for _, tt := range []struct {
		name string
		// partitions are those to wipe; nil is the whole disk.
		partitions []string
		want       []string
	}{
		{"the system disk", nil, []string{"before", "goes on", "does not boot"}},
		{"STATE and EPHEMERAL", []string{layout.PartitionState, layout.PartitionEphemeral}, []string{"before", "goes on", "done"}},
	} {
		t.Run(tt.name, func(t *testing.T) { resets(t, tt.partitions, tt.want) })
	}
}

func resets(t *testing.T, partitions, want []string) {
	sys := systemOf(t, 1, "v1.0.0")
	w := &resetting{r: replay.Record(t, diskSize)}
	path, closed := w.r.Device(0, diskSize)

	if err := install.To(t.Context(), disk.Sys, path, request(false), sys.content, nil); err != nil {
		t.Fatal(err)
	}

	closed()

	err := w.with(0, diskSize, func(f *disk.File) (err error) {
		w.table, err = gpt.Read(f, f.Size, f.SectorSize)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	w.fill(t)
	w.openMeta(t)

	seen := reset.Seen{SystemDisk: "/dev/vda"}
	for _, p := range w.table.Partitions {
		seen.Partitions = append(seen.Partitions, p.Label)
	}

	record, err := reset.Choose(reset.Request{By: "a test", Partitions: partitions}, seen)
	if err != nil {
		t.Fatal(err)
	}

	from := w.r.Entries()

	text, err := record.Encode()
	if err == nil {
		err = w.values.Set(meta.Reset, text)
	}

	if err == nil {
		err = reset.Run(t.Context(), record, w, reset.Options{})
	}

	if err := errors.Join(err, w.keeps.Close()); err != nil {
		t.Fatal(err)
	}

	recording, states, sums := w.r.Recording(), map[string]int{}, replay.Sums{}
	for s := range recording.States(rand.New(rand.NewPCG(14, 4)), from, len(recording.Log.Entries), 4*times) {
		what, err := w.verdict(s, sums, sys, record)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}

		states[what]++
	}

	t.Log(states)

	for _, name := range want {
		if states[name] == 0 {
			t.Errorf("no state is %q: %v", name, states)
		}
	}
}

// openMeta opens META, and gives it what a machine has there.
func (w *resetting) openMeta(t *testing.T) {
	t.Helper()

	path, _ := w.r.Device(w.bounds(layout.PartitionMeta))

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}

	w.keeps = f
	if w.values, err = meta.Open(f); err != nil {
		t.Fatal(err)
	}

	for _, tag := range []meta.Tag{meta.Administrators, meta.UserReserved1} {
		if err := w.values.Set(tag, secret); err != nil {
			t.Fatal(err)
		}
	}
}

// verdict returns what a state is.
func (w *resetting) verdict(s *replay.State, sums replay.Sums, sys system, r reset.Record) (string, error) {
	left, err := w.left(s, r)
	if err != nil {
		return "", err
	}

	found, err := s.Look(sums)
	if err != nil || found.Meta == nil {
		// META, the table or the EFI partition are wiped: the machine does not boot from this disk.
		if !r.SystemDisk {
			return "", fmt.Errorf("the machine does not boot: %w", cmpErr(err))
		}

		if len(left) > 0 {
			return "", fmt.Errorf("the machine does not boot, and %v have secrets: %w", left, cmpErr(err))
		}

		return "does not boot", nil
	}

	kept, there, err := reset.Decode(found.Meta[meta.Reset])

	switch {
	case err != nil:
		return "", err
	case there && kept.String() != r.String():
		return "", fmt.Errorf("the record is %s, want %s", kept, r)
	case there && sys.boots(found):
		return "goes on", nil
	case !sys.boots(found) && r.SystemDisk && len(left) == 0:
		return "does not boot", nil
	case !sys.boots(found):
		return "", fmt.Errorf("the machine does not boot, record %t, and %v have secrets", there, left)
	case len(left) == len(w.secrets(r)) && found.Meta[meta.Administrators] != nil:
		return "before", nil
	case len(left) == 0 && !r.SystemDisk && found.Meta[meta.Administrators] == nil && found.Meta[meta.UserReserved1] != nil:
		return "done", nil
	default:
		return "", fmt.Errorf("the machine boots without the record: %v have secrets, and META has %v", left, found.Meta)
	}
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("META is not there")
	}

	return err
}

// boots reports whether the boot partition of a disk is whole. The image cache is not needed to go on.
func (s system) boots(found *replay.Found) bool { return maps.Equal(found.Files, s.files) }

// secrets are the partitions of which a reset overwrites what is recognised.
func (w *resetting) secrets(r reset.Record) []string {
	return slices.DeleteFunc([]string{layout.PartitionState, layout.PartitionEphemeral}, func(label string) bool { return !r.Wipes(label) })
}

// left returns the partitions that have secrets: STATE anywhere, and EPHEMERAL at its start, by which its file system is found.
func (w *resetting) left(s *replay.State, r reset.Record) (out []string, err error) {
	for _, label := range w.secrets(r) {
		offset, size := w.bounds(label)
		places := []int64{0, size/2 - size/2%512, size - 4*mib}

		if label == layout.PartitionEphemeral {
			places = places[:1]
		}

		has := false
		b := make([]byte, mib)

		for _, at := range places {
			if _, err := s.ReadAt(b, offset+at); err != nil {
				return nil, err
			}

			has = has || bytes.Contains(b, secret)
		}

		if has {
			out = append(out, label)
		}
	}

	return out, nil
}
