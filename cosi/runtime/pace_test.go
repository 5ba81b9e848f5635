// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLimits: for any limit, work without end gets exactly the limit, in a pace and for a key of a queue. It is reported once
// when the limit is exceeded and once when that is over.
func TestLimits(t *testing.T) {
	const minute = 60

	// endless runs rounds until stop, and returns how many were run.
	type endless func(t *testing.T, limit RateLimit, tell func(bool), done func())

	for name, start := range map[string]endless{
		"pace": func(_ *testing.T, limit RateLimit, tell func(bool), round func()) {
			var p pace

			wakeups := make(chan struct{}, 1)
			p = pace{limit: limit, tell: tell, deliver: func() bool {
				select {
				case wakeups <- struct{}{}:
					return true
				default:
					return false
				}
			}}

			p.wake()

			for end := time.Now().Add(minute * time.Second); time.Now().Before(end); {
				select {
				case <-wakeups:
					round()
					p.wake()
				case <-time.After(time.Until(end)):
				}
			}
		},
		"queue": func(t *testing.T, limit RateLimit, tell func(bool), round func()) {
			q := newQueue[string, int](limit, func(_ string, limited bool) { tell(limited) })
			q.put("x", 0)

			for end := time.Now().Add(minute * time.Second); time.Now().Before(end); {
				if readyLen(q) == 0 {
					time.Sleep(time.Millisecond)

					continue
				}

				it, _ := q.take(t.Context())
				round()
				q.release(it, 0)
			}

			time.Sleep(time.Second) // then it is finished

			for readyLen(q) > 0 {
				it, _ := q.take(t.Context())
				q.release(it, -1)
			}
		},
	} {
		for _, limit := range []RateLimit{DefaultRateLimit, {10, 100}, {1, 1}, {5, 2}, {100, 10}, {3, 7}} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var (
						rounds int
						told   []bool
					)

					start(t, limit, func(limited bool) { told = append(told, limited) }, func() { rounds++ })

					// A refill gives back a whole number: of 7 per second, 1 at each of 4 refills.
					least, most := minute*limit.PerSecond/2, limit.Burst+(minute+1)*limit.PerSecond
					if rounds < least || rounds > most {
						t.Errorf("rounds in a minute: got %d, want %d to %d", rounds, least, most)
					}

					time.Sleep(5 * time.Minute)
					synctest.Wait()

					if diff := cmp.Diff([]bool{true, false}, told); diff != "" {
						t.Errorf("reports (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}
