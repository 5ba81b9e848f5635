// SPDX-License-Identifier: Apache-2.0

package gpt_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/gpt"
)

const mib = 1 << 20

func newTable(t *testing.T, size uint64) *gpt.Table {
	t.Helper()

	table, err := gpt.New(size, 512)
	if err != nil {
		t.Fatal(err)
	}

	return table
}

func add(t *testing.T, table *gpt.Table, label string, minSize, maxSize uint64) gpt.Partition {
	t.Helper()

	p, err := table.Add(gpt.Partition{Label: label, Type: gpt.TypeLinuxData}, minSize, maxSize)
	if err != nil {
		t.Fatal(err)
	}

	return p
}

func image(t *testing.T, size int64) *os.File {
	t.Helper()

	f, err := os.Create(filepath.Join(t.TempDir(), "disk.raw"))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { f.Close() })

	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}

	return f
}

// Common tools verify what is written.
func TestOtherToolsAgree(t *testing.T) {
	f := image(t, 64*mib)
	table := newTable(t, 64*mib)

	if _, err := table.Add(gpt.Partition{Label: "EFI", Type: gpt.TypeESP}, 10*mib, 10*mib); err != nil {
		t.Fatal(err)
	}

	add(t, table, "META", mib, mib)
	add(t, table, "EPHEMERAL", mib, 0)

	if err := table.Write(f); err != nil {
		t.Fatal(err)
	}

	for _, tool := range []struct {
		name string
		args []string
		want []string
	}{
		{"sgdisk", []string{"-v", "-p"}, []string{"No problems found", "EFI", "META", "EPHEMERAL", "EF00"}},
		{"sfdisk", []string{"--verify"}, []string{"No errors detected"}},
	} {
		t.Run(tool.name, func(t *testing.T) {
			out, err := exec.Command(hosttest.Need(t, tool.name), append(tool.args, f.Name())...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			for _, w := range tool.want {
				if !strings.Contains(string(out), w) {
					t.Errorf("output lacks %q:\n%s", w, out)
				}
			}
		})
	}
}

// What others write is read.
func TestReadSgdisk(t *testing.T) {
	sgdisk := hosttest.Need(t, "sgdisk")
	f := image(t, 32*mib)

	out, err := exec.Command(sgdisk, "-n", "2:2048:+3M", "-c", "2:Größe", "-t", "2:8200", "-A", "2:set:2", f.Name()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	table, err := gpt.Read(f, 32*mib, 512)
	if err != nil {
		t.Fatal(err)
	}

	p, ok := table.Find("Größe")
	if !ok {
		t.Fatalf("got %+v, want a partition Größe", table.Partitions)
	}

	p.ID = gpt.GUID{}

	want := gpt.Partition{Number: 2, Type: gpt.TypeLinuxSwap, Label: "Größe", First: 2048, Last: 2048 + 3*2048 - 1, Attributes: 1 << 2}
	if diff := cmp.Diff(want, p); diff != "" || table.Repair != "" {
		t.Errorf("repair %q (-want +got):\n%s", table.Repair, diff)
	}
}

func TestRoundTripBothSectorSizes(t *testing.T) {
	for _, sector := range []uint64{512, 4096} {
		f := image(t, 64*mib)

		table, err := gpt.New(64*mib, sector)
		if err != nil {
			t.Fatal(err)
		}

		add(t, table, "one", mib, 3*mib)
		add(t, table, "two", mib, 0)

		if err := table.Write(f); err != nil {
			t.Fatal(err)
		}

		got, err := gpt.Read(f, 64*mib, sector)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(table, got); diff != "" {
			t.Errorf("sector size %d (-want +got):\n%s", sector, diff)
		}
	}
}

func TestPlanning(t *testing.T) {
	table := newTable(t, 100*mib)
	first := add(t, table, "first", 10*mib, 10*mib)
	second := add(t, table, "second", 10*mib, 10*mib)

	if got, want := first.First*512, uint64(mib); got != want {
		t.Errorf("start of the first partition: got %d, want %d", got, want)
	}

	if got, want := second.First, first.Last+1; got != want {
		t.Errorf("start of the second partition: got %d, want %d", got, want)
	}

	if _, grown, err := table.Grow(first.Number, 0); err != nil || grown {
		t.Errorf("grow with no room behind: got %v, %v, want no growth", grown, err)
	}

	if p, grown, err := table.Grow(second.Number, 20*mib); err != nil || !grown || p.Sectors()*512 != 20*mib {
		t.Errorf("grow to 20 MiB: got %d bytes, %v, %v", p.Sectors()*512, grown, err)
	}

	if err := table.Delete(first.Number); err != nil {
		t.Fatal(err)
	}

	if p := add(t, table, "again", mib, 5*mib); p.Number != 1 || p.First != first.First {
		t.Errorf("partition in the gap: got %+v, want number 1 at sector %d", p, first.First)
	}

	before := len(table.Partitions)

	if _, err := table.Add(gpt.Partition{Label: "big", Type: gpt.TypeLinuxData}, 1000*mib, 0); !errors.Is(err, gpt.ErrNoSpace) {
		t.Errorf("too large: got %v, want ErrNoSpace", err)
	}

	if _, err := table.Add(gpt.Partition{Label: strings.Repeat("x", 37), Type: gpt.TypeLinuxData}, mib, 0); err == nil {
		t.Error("a label of 37 characters was accepted")
	}

	if len(table.Partitions) != before {
		t.Errorf("failed plans changed the table: %+v", table.Partitions)
	}
}

// A larger disk under an old table: everything is usable, and a write puts the backup where it belongs.
func TestDiskHasGrown(t *testing.T) {
	f := image(t, 64*mib)
	table := newTable(t, 32*mib)
	p := add(t, table, "one", mib, 0)

	if err := table.Write(f); err != nil {
		t.Fatal(err)
	}

	got, err := gpt.Read(f, 64*mib, 512)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(got.Repair, "grown") {
		t.Errorf("repair: got %q, want that the disk has grown", got.Repair)
	}

	if _, grown, err := got.Grow(p.Number, 0); err != nil || !grown {
		t.Errorf("grow: got %v, %v", grown, err)
	}

	if err := got.Write(f); err != nil {
		t.Fatal(err)
	}

	if got, err = gpt.Read(f, 64*mib, 512); err != nil || got.Repair != "" {
		t.Errorf("after the repair: got %q, %v", got.Repair, err)
	}
}

// cutDevice loses power after a number of bytes.
type cutDevice struct {
	data  []byte
	power int
}

var errPower = errors.New("power is off")

func (d *cutDevice) WriteAt(p []byte, off int64) (int, error) {
	n := min(len(p), d.power)
	d.power -= n
	copy(d.data[off:], p[:n])

	if n < len(p) {
		return n, errPower
	}

	return n, nil
}

func (d *cutDevice) Sync() error { return nil }

func TestPowerCut(t *testing.T) {
	const size = 8 * mib

	before := newTable(t, size)
	add(t, before, "old", mib, mib)

	d := &cutDevice{data: make([]byte, size), power: size}
	if err := before.Write(d); err != nil {
		t.Fatal(err)
	}

	after := *before
	add(t, &after, "new", mib, mib)

	clean := bytes.Clone(d.data)

	for cut := 0; cut < 40_000; cut += 61 {
		d := &cutDevice{data: bytes.Clone(clean), power: cut}
		writeErr := after.Write(d)

		got, err := gpt.Read(bytes.NewReader(d.data), size, 512)
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", cut, err)
		}

		n := len(got.Partitions)
		if n != 1 && n != 2 || writeErr == nil && n != 2 {
			t.Fatalf("cut after %d bytes (write: %v): got %+v", cut, writeErr, got.Partitions)
		}
	}
}

func TestBadTables(t *testing.T) {
	if _, err := gpt.Read(bytes.NewReader(make([]byte, mib)), mib, 512); !errors.Is(err, gpt.ErrNoTable) {
		t.Errorf("an empty disk: got %v, want ErrNoTable", err)
	}

	if _, err := gpt.Read(bytes.NewReader(nil), 0, 512); err == nil {
		t.Error("a disk without sectors was accepted")
	}

	if _, err := gpt.New(mib, 520); err == nil {
		t.Error("sectors of 520 bytes were accepted")
	}
}

func FuzzRead(f *testing.F) {
	const size = mib

	table, err := gpt.New(size, 512)
	if err != nil {
		f.Fatal(err)
	}

	d := &cutDevice{data: make([]byte, size), power: size}
	if err := table.Write(d); err != nil {
		f.Fatal(err)
	}

	f.Add(d.data[512:2048], d.data[size-512:])

	f.Fuzz(func(t *testing.T, head, tail []byte) {
		disk := make([]byte, size)
		copy(disk[512:], head)
		copy(disk[max(512, size-len(tail)):], tail)

		got, err := gpt.Read(bytes.NewReader(disk), size, 512)
		if err != nil {
			return
		}

		// A table that was read can be written, and is the same afterwards.
		d := &cutDevice{data: disk, power: size}
		if err := got.Write(d); err != nil {
			t.Fatal(err)
		}

		again, err := gpt.Read(bytes.NewReader(disk), size, 512)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(got.Partitions, again.Partitions); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
