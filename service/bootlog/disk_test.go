// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDiskFails loses its folder, as a stand-in for a disk that fails, and finds it again.
func TestDiskFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "boots")
	j := start(t, dir, "one", DefaultLimits, none)

	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}

	j.Append("etcd", []byte("kept"))

	j.mu.Lock()
	err := j.write(true)
	j.mu.Unlock()

	if err == nil {
		t.Fatal("got no error")
	}

	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}

	flush(t, j)

	if got := read(t, j, 0, "etcd", -1); got != "kept\n" {
		t.Errorf("got %q", got)
	}
}

// TestDiskIsFull tries again and again, as a machine does for days: nothing piles up on the disk, and what there is room for
// in memory is written when the disk has some.
func TestDiskIsFull(t *testing.T) {
	dir := t.TempDir()
	j := start(t, dir, "one", DefaultLimits, none)

	j.mu.Lock()
	defer j.mu.Unlock()

	j.queue.add("etcd", []byte("kept"))

	for range 3 {
		if err := j.rotate(0); err != nil {
			t.Fatal(err)
		}

		// A file that cannot be written to stands for a disk without room.
		path := j.file.Name()
		if err := j.file.Close(); err != nil {
			t.Fatal(err)
		}

		var err error
		if j.file, err = os.Open(path); err != nil {
			t.Fatal(err)
		}

		if err := j.write(true); err == nil {
			t.Fatal("got no error")
		}
	}

	if files, err := segments(filepath.Join(dir, "00000001")); err != nil || len(files) > 0 {
		t.Errorf("got the files %q, %v, want none", files, err)
	}

	if err := j.write(true); err != nil {
		t.Fatal(err)
	}

	if files, err := segments(filepath.Join(dir, "00000001")); err != nil || len(files) != 1 {
		t.Errorf("got the files %q, %v, want one", files, err)
	}

	if n := len(j.queue.pending); n > 0 {
		t.Errorf("%d bytes wait still", n)
	}
}
