// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestLockHistory: processes take turns with a lock and write under it, while their connections are cut or hang. In etcd's own history
// the places of the writers never decrease: after the first write of a holder, there is none of an earlier one.
func TestLockHistory(t *testing.T) {
	const (
		processes = 4
		duration  = 12 * time.Second
		lease     = 2 * time.Second
	)

	ok(t, resource.Register[BookSpec]())

	srv := ownServer(t, t.TempDir())
	direct := dialTo(t, srv.endpoint())

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()

	var (
		wg    sync.WaitGroup
		turns atomic.Int32
	)

	for i := range processes {
		way := newProxy(t, srv.endpoint())
		random := rand.New(rand.NewPCG(seed, uint64(i)))

		// The writes go another way than the lease: a process that lost the lock can still write, which is the worst case.
		st := openAt(t, direct, "/history")
		client := dialTo(t, way.endpoint())
		name := fmt.Sprint("process ", i)

		wg.Go(func() {
			for ctx.Err() == nil {
				if random.IntN(2) == 0 {
					way.hang(time.Duration(random.Int64N(int64(2 * lease))))
				} else {
					way.cut()
				}

				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(random.Int64N(int64(lease)))):
				}
			}
		})

		wg.Go(func() {
			for ctx.Err() == nil {
				waiting, stop := context.WithTimeout(ctx, 3*lease)
				lock, err := etcd.Acquire(waiting, client, "/history-lock", etcd.WithHolder(name), etcd.WithLease(lease))

				stop()

				if err != nil {
					continue // of a cut
				}

				// It does not look whether it still holds the lock.
				turn, stop := context.WithTimeout(etcd.Fenced(ctx, lock), []time.Duration{lease / 20, 2 * lease}[turns.Add(1)%2])

				for err = nil; err == nil; {
					err = typed.Set(turn, st, "", "turn", BookSpec{Title: fmt.Sprint(lock.Place(), " ", time.Now().UnixNano())})
				}

				stop()

				if !errors.Is(err, etcd.ErrFenced) && turn.Err() == nil && ctx.Err() == nil {
					t.Errorf("%s: %v", name, err)
				}

				wg.Go(func() { lock.Release(ctx) }) // late, or never: its way may hang
			}
		})
	}

	wg.Wait()

	writes, holders := places(t, direct, "/history")
	t.Logf("%d writes by %d holders", writes, holders)

	if holders < 2 {
		t.Errorf("only %d holders, the test proves nothing", holders)
	}
}

// places checks that the places of the writers in the history of a prefix never decrease.
func places(t *testing.T, client *clientv3.Client, prefix string) (writes, holders int) {
	t.Helper()

	history, err := readTruth(t.Context(), client, prefix)
	ok(t, err)

	before := int64(0)

	for _, c := range history.changes {
		text, _, _ := strings.Cut(c.resource.Spec().(*BookSpec).Title, " ")

		place, err := strconv.ParseInt(text, 10, 64)
		ok(t, err)

		if place < before {
			t.Errorf("revision %d: a write of the holder at place %d, after one at place %d", c.revision, place, before)
		}

		if place > before {
			holders++
		}

		before = place
	}

	return len(history.changes), holders
}
