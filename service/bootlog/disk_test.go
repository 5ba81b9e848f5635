// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDiskFails removes the folder of the journal, which has the effect of a failed disk, and restores it.
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

// TestDiskIsFull: repeated attempts leave no files on a full disk, and the lines in memory are written when the disk has space.
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

		// A read-only file has the effect of a full disk.
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
		t.Errorf("%d bytes are still pending", n)
	}
}
