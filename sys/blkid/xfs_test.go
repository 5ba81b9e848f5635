// SPDX-License-Identifier: Apache-2.0

package blkid_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/blkid"
)

// TestFinish gives a new file system its label. xfs_repair, which reads all superblocks with their checksums, finds nothing to repair.
func TestFinish(t *testing.T) {
	hosttest.Need(t, "mkfs.xfs")
	hosttest.Need(t, "xfs_repair")

	path := write(t, nil)
	if err := os.Truncate(path, 300<<20); err != nil {
		t.Fatal(err)
	}

	run(t, "mkfs.xfs", "-q", "-L", blkid.Unfinished, path)

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if info, err := blkid.Probe(f, 300<<20, 512); err != nil || info.Name != "" {
		t.Errorf("unfinished: got %+v, %v, want nothing", info, err)
	}

	if is, err := blkid.Unformatted(f, 300<<20); err != nil || !is {
		t.Errorf("unfinished: got %v, %v, want an unformatted device", is, err)
	}

	if err := blkid.Finish(f, "a label that is too long"); err == nil {
		t.Error("a label that is too long was accepted")
	}

	if err := blkid.Finish(f, "STATE"); err != nil {
		t.Fatal(err)
	}

	if info, err := blkid.Probe(f, 300<<20, 512); err != nil || info.Name != blkid.XFS || info.Label != "STATE" {
		t.Errorf("finished: got %+v, %v, want XFS with its label", info, err)
	}

	run(t, "xfs_repair", "-n", path)

	for _, offset := range []int64{0, 512} { // no superblock, and unknown data beside its remains
		if _, err := f.WriteAt(make([]byte, 512), offset); err != nil {
			t.Fatal(err)
		}
	}

	if is, err := blkid.Unformatted(f, 300<<20); err != nil || !is {
		t.Errorf("remains: got %v, %v, want an unformatted device", is, err)
	}

	if _, err := f.WriteAt([]byte("data"), 512); err != nil {
		t.Fatal(err)
	}

	if is, err := blkid.Unformatted(f, 300<<20); err != nil || is {
		t.Errorf("data: got %v, %v, want a device with data", is, err)
	}

	if err := blkid.Finish(f, "STATE"); err == nil {
		t.Error("a device without a superblock was finished")
	}
}

// TestRemains removes the superblock that mkfs.xfs writes. The headers that follow have one sector each.
func TestRemains(t *testing.T) {
	for _, sector := range []int{512, 4096} {
		path := write(t, nil)
		if err := os.Truncate(path, 300<<20); err != nil {
			t.Fatal(err)
		}

		run(t, "mkfs.xfs", "-q", "-s", fmt.Sprint("size=", sector), path)

		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()

		if _, err := f.WriteAt(make([]byte, sector), 0); err != nil {
			t.Fatal(err)
		}

		if is, err := blkid.Unformatted(f, 300<<20); err != nil || !is {
			t.Errorf("sectors of %d bytes: got %v, %v, want an unformatted device", sector, is, err)
		}

		// The same bytes elsewhere are not of XFS.
		if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 512), 20<<10); err != nil {
			t.Fatal(err)
		}

		if is, err := blkid.Unformatted(f, 300<<20); err != nil || is {
			t.Errorf("sectors of %d bytes, other data: got %v, %v, want a device with data", sector, is, err)
		}
	}
}
