// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func readyLen(q *queue[string, int]) int {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.ready.len()
}

func fill(q *queue[string, int], keys []string) {
	q.fill(len(keys), func(i int) string { return keys[i] }, strings.Compare)
}

func takeAll(t *testing.T, q *queue[string, int]) []string {
	t.Helper()

	var got []string

	for readyLen(q) > 0 {
		it, v := q.take(t.Context())
		got = append(got, fmt.Sprint(it.key, v))
		q.release(it, -1)
	}

	return got
}

func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string, int](Unlimited, nil)

		for i, k := range []string{"c", "a", "b", "a"} {
			q.put(k, i)
		}

		if diff := gocmp.Diff([]string{"c0", "a3", "b2"}, takeAll(t, q)); diff != "" {
			t.Errorf("first in, first out, each once (-want +got):\n%s", diff)
		}

		// A fill has the same result, whether the keys are in the queue already or not.
		q.put("b", 1)

		many := make([]string, 0, 2*fillStep+1)
		want := []string{"b0"}

		for i := range 2 * fillStep {
			many = append(many, fmt.Sprintf("k%03d-", i))
			want = append(want, many[i]+"0")
		}

		fill(q, append(many, "b"))

		if diff := gocmp.Diff(want, takeAll(t, q)); diff != "" {
			t.Errorf("many (-want +got):\n%s", diff)
		}

		// Held: a key that is put during the hold comes once, after the release, also if a delay was requested.
		q.put("x", 1)
		x, _ := q.take(t.Context())
		q.put("x", 2)
		q.put("x", 3)

		if got := q.len(); got != 1 || readyLen(q) != 0 {
			t.Errorf("len: got %d with %d ready, want 1 with 0 ready", got, readyLen(q))
		}

		q.release(x, time.Hour)

		if diff := gocmp.Diff([]string{"x3"}, takeAll(t, q)); diff != "" {
			t.Errorf("held (-want +got):\n%s", diff)
		}

		// Delayed keys come by time; a put makes one due now.
		for i, k := range []string{"3", "1", "2", "4"} {
			q.put(k, i)
		}

		for range 4 {
			it, _ := q.take(t.Context())
			q.release(it, time.Duration(it.key[0]-'0')*time.Second)
		}

		q.put("4", 9)

		if diff := gocmp.Diff([]string{"49"}, takeAll(t, q)); diff != "" {
			t.Errorf("put while delayed (-want +got):\n%s", diff)
		}

		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()

		if diff := gocmp.Diff([]string{"11"}, takeAll(t, q)); diff != "" {
			t.Errorf("after 1.5 s (-want +got):\n%s", diff)
		}

		time.Sleep(2 * time.Second)
		synctest.Wait()

		if diff := gocmp.Diff([]string{"22", "30"}, takeAll(t, q)); diff != "" {
			t.Errorf("after 3.5 s (-want +got):\n%s", diff)
		}

		if q.size() != 0 {
			t.Errorf("left: %v %v", q.items, q.blocks)
		}
	})
}

// TestQueueForgets: a key that is done is removed after refills have given back what it used of the limit, also a key whose
// work takes longer than that.
func TestQueueForgets(t *testing.T) {
	for name, work := range map[string]time.Duration{"at once": 0, "after a while": time.Minute} {
		for _, limit := range []RateLimit{DefaultRateLimit, Unlimited} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := newQueue[string, int](limit, nil)

					for i := range 100 {
						q.put(fmt.Sprint("short", i), 0)
					}

					fill(q, []string{"many1", "many2", "many3", "short7"})
					takeAll(t, q)
					q.put("x", 1)
					it, _ := q.take(t.Context())
					time.Sleep(work)
					q.release(it, -1)
					time.Sleep(time.Minute)
					synctest.Wait()

					if q.size() > 0 || len(q.blocks) > 0 || q.len() > 0 || q.rates.resting != 0 {
						t.Errorf("left: %d keys, %d blocks, %d at rest, length %d", q.size(), len(q.blocks), q.rates.resting, q.len())
					}
				})
			})
		}
	}
}

// TestQueueAtOnce: no key is held twice at the same time, and none is lost.
func TestQueueAtOnce(t *testing.T) {
	const keys, puts, workers = 20, 2000, 8

	q := newQueue[int, int](DefaultRateLimit, func(int, bool) {})
	ctx, cancel := context.WithCancel(t.Context())
	context.AfterFunc(ctx, q.close)

	var (
		working [keys]atomic.Bool
		newest  [keys]atomic.Int64
		wg      sync.WaitGroup
	)

	for range workers {
		wg.Go(func() {
			for {
				it, v := q.take(ctx)
				if it == nil {
					return
				}

				k := it.key
				if working[k].Swap(true) {
					t.Errorf("%d is in work twice", k)
				}

				newest[k].Store(int64(v))
				working[k].Store(false)

				delay := time.Duration(-1)
				if rand.IntN(3) == 0 {
					delay = time.Microsecond
				}

				q.release(it, delay)
			}
		})
	}

	last := map[int]int{}

	for i := range puts {
		k := rand.IntN(keys)
		last[k] = i
		q.put(k, i)

		if i%10 == 0 {
			many := rand.Perm(keys)[:rand.IntN(keys)]
			if rand.IntN(4) > 0 {
				slices.Sort(many)
			}

			q.fill(len(many), func(i int) int { return many[i] }, cmp.Compare)

			for _, k := range many {
				last[k] = 0
			}
		}
	}

	deadline := time.Now().Add(20 * time.Second)

	for k, want := range last {
		for newest[k].Load() != int64(want) {
			if time.Now().After(deadline) {
				t.Fatalf("%d: the last value in work was %d, want %d", k, newest[k].Load(), want)
			}

			time.Sleep(time.Millisecond)
		}
	}

	cancel()
	wg.Wait()
}

func BenchmarkQueue(b *testing.B) {
	q := newQueue[int, int](DefaultRateLimit, func(int, bool) {})
	ctx := context.Background()

	b.ReportAllocs()

	i := 0
	for b.Loop() {
		q.put(i, i)
		it, _ := q.take(ctx)
		q.release(it, -1)

		i++
	}
}
