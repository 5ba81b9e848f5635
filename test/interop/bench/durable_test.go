// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/conformance"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/cosi-project/runtime/pkg/state/impl/store"
	"github.com/cosi-project/runtime/pkg/state/impl/store/bolt"
	"go.etcd.io/bbolt"
)

// BenchmarkDurable64 is a write to a file by one of 64 writers, each of its own resource.
func BenchmarkDurable64(b *testing.B) { durable(b, 64) }

// BenchmarkDurable1 is a write to a file by the only writer.
func BenchmarkDurable1(b *testing.B) { durable(b, 1) }

func durable(b *testing.B, writers int) {
	b.Helper()

	registerPath(b)

	path := filepath.Join(b.TempDir(), "db")

	backing, err := bolt.NewBackingStore(func() (*bbolt.DB, error) { return bbolt.Open(path, 0o600, nil) }, store.ProtobufMarshaler{})
	ok(b, err)

	defer backing.Close()

	st := state.WrapCore(namespaced.NewState(func(ns string) state.CoreState {
		return inmem.NewStateWithOptions(inmem.WithBackingStore(backing.WithNamespace(ns)))(ns)
	}))

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

var pathRegistered = sync.OnceValue(func() error {
	return protobuf.RegisterResource(conformance.PathResourceType, &conformance.PathResource{})
})

// registerPath registers paths with the encoding, once in a process.
func registerPath(b *testing.B) {
	b.Helper()
	ok(b, pathRegistered())
}
