// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/cosi/bolt"
)

// BenchmarkDurable64 is a write to a file by one of 64 writers, each of its own resource.
func BenchmarkDurable64(b *testing.B) { durable(b, 64) }

// BenchmarkDurable1 is a write to a file by the only writer.
func BenchmarkDurable1(b *testing.B) { durable(b, 1) }

func durable(b *testing.B, writers int) {
	b.Helper()

	st, err := bolt.Open(filepath.Join(b.TempDir(), "db"))
	ok(b, err)

	defer st.Close()

	work := make(chan struct{}, writers)

	var wg sync.WaitGroup

	for w := range writers {
		r := newPath(fmt.Sprint(w))
		ok(b, st.Create(context.Background(), r))

		wg.Go(func() {
			for range work {
				if err := st.Update(context.Background(), r); err != nil {
					b.Error(err)
				}
			}
		})
	}

	for b.Loop() {
		work <- struct{}{}
	}

	close(work)
	wg.Wait()
}
