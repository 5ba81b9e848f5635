// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
)

// TestRoom: writes to a new file need no new blocks of the file system.
func TestRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")

	st, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}

	defer st.Close()

	blocks := func() int64 {
		var info syscall.Stat_t
		if err := syscall.Stat(path, &info); err != nil {
			t.Fatal(err)
		}

		return info.Blocks
	}

	item := conformance.NewItem("n", "a", "v")
	if err := st.Create(t.Context(), item); err != nil {
		t.Fatal(err)
	}

	before := blocks()

	for range 1200 { // more than the history keeps
		if err := st.Update(t.Context(), item); err != nil {
			t.Fatal(err)
		}
	}

	if after := blocks(); after != before {
		t.Errorf("the file took %d blocks of 512 B, and then %d", before, after)
	}
}
