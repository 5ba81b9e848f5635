// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/cosi/conformance"
)

// TestHistoryInTheFile: the file has the changes up to the limit, and not many more, whether they come one by one or many at once.
func TestHistoryInTheFile(t *testing.T) {
	const limit = 2 * trimEvery

	for _, writers := range []int{1, 16} {
		t.Run(fmt.Sprint(writers, " writers"), func(t *testing.T) {
			st, err := Open(filepath.Join(t.TempDir(), "db"), WithHistory(limit))
			if err != nil {
				t.Fatal(err)
			}

			defer st.Close()

			var wg sync.WaitGroup

			for w := range writers {
				wg.Go(func() {
					item := conformance.NewItem("n", fmt.Sprint(w), "v")
					if err := st.Create(t.Context(), item); err != nil {
						t.Error(err)
					}

					for range 10 * limit / writers {
						if err := st.Update(t.Context(), item); err != nil {
							t.Error(err)

							return
						}
					}
				})
			}

			wg.Wait()

			name := kindKey(conformance.NewItem("n", "0", "").Metadata().Kind())
			stored := 0

			err = st.file.db.View(func(tx *bbolt.Tx) error {
				stored = tx.Bucket(bucketOf(name, suffixHistory)).Stats().KeyN

				return nil
			})
			if err != nil {
				t.Fatal(err)
			}

			if least, most := limit, limit+trimEvery; stored < least || stored > most {
				t.Errorf("the history in the file has %d changes, want %d to %d", stored, least, most)
			}
		})
	}
}
