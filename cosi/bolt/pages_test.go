// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
)

// TestPagesOfAWrite: the cost of a write is the number of pages that it stores. A change of one resource writes the root,
// often the tail of the history, and the meta page; now and then it writes the history.
func TestPagesOfAWrite(t *testing.T) {
	const (
		writes = 100 * tailLength
		pages  = 2.5
	)

	st, err := Open(filepath.Join(t.TempDir(), "db"))
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

	stats := st.db.Stats()
	before := stats.TxStats.GetWrite()

	write()

	stats = st.db.Stats()

	got := float64(stats.TxStats.GetWrite()-before) / writes
	t.Logf("an update writes %.2f pages", got)

	if got > pages {
		t.Errorf("an update wrote %.2f pages, want %.2f at most", got, pages)
	}
}
