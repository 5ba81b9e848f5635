// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
)

// TestPagesOfAWrite: the cost of a write is how often it waits for the disk. A change is one write to the log, whose size stays the same; now
// and then the changes of the log are written to the pages of the file.
func TestPagesOfAWrite(t *testing.T) {
	const (
		writes = 3000
		pages  = 0.1
	)

	path := filepath.Join(t.TempDir(), "db")

	st, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}

	defer st.Close()

	item := conformance.NewItem("n", "a", "v")
	if err := st.Create(t.Context(), item); err != nil {
		t.Fatal(err)
	}

	write := func() {
		for range writes {
			if err := st.Update(t.Context(), item); err != nil {
				t.Fatal(err)
			}
		}
	}

	write() // until parts of the history are deleted

	stats := st.file.db.Stats()
	before := stats.TxStats.GetWrite()

	write()

	stats = st.file.db.Stats()

	got := float64(stats.TxStats.GetWrite()-before) / writes
	t.Logf("an update writes %.3f pages", got)

	if got == 0 || got > pages {
		t.Errorf("an update wrote %.3f pages, want %.2f at most, and some", got, pages)
	}

	if info, err := os.Stat(path + logSuffix); err != nil || info.Size() != logSize {
		t.Errorf("the log: got %v (%v), want %d bytes", info, err, logSize)
	}
}
