// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// While changes are held together, watchers are not called; then once.
func TestObserverHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			k     netlinktest.Kernel
			woken atomic.Int32
			names int
		)

		o := netlink.NewObserver(&k)

		go func() { _ = o.WatchOnly(0, nil)(t.Context(), func() { woken.Add(1) }) }()

		synctest.Wait()

		change := func() {
			t.Helper()

			names++

			err := o.Change(netlink.WatchLinks, func(k netlink.Kernel) error {
				return k.CreateLink(netlink.NewLink{Name: fmt.Sprintf("d%d", names), Kind: "dummy"})
			})
			if err != nil {
				t.Fatal(err)
			}

			synctest.Wait()
		}

		calls := func(want int32) {
			t.Helper()
			synctest.Wait()

			if got := woken.Swap(0); got != want {
				t.Errorf("got %d calls, want %d", got, want)
			}
		}

		woken.Store(0)

		release := o.Hold()
		for range 10 {
			change()
		}

		calls(0)
		release(true)
		calls(1)

		release = o.Hold()
		change()
		calls(0)
		time.Sleep(time.Second) // they do not wait longer
		calls(1)
		change()
		release(false)
		calls(1)
	})
}

// In a flood of own changes watchers are called at most four times a second, and the last change is not lost.
func TestObserverInFloodOfHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			k      slow
			called atomic.Int32
			seen   atomic.Int32
		)

		o := netlink.NewObserver(&k)
		wake := make(chan struct{}, 1)

		go func() {
			_ = o.WatchOnly(0, nil)(t.Context(), func() {
				called.Add(1)

				select {
				case wake <- struct{}{}:
				default:
				}
			})
		}()

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-wake:
					s, err := o.Snapshot()
					if err != nil {
						t.Error(err)

						return
					}

					seen.Store(int32(len(s.Links)))
				}
			}
		}()

		const changes, seconds = 1000, 10

		for range changes {
			release := o.Hold()

			k.Plug(netlink.Link{Name: "l"})
			synctest.Wait()
			release(true)
			time.Sleep(seconds * time.Second / changes)
		}

		// The first calls, a quarter of a second of reads, are free.
		if got := called.Load(); got > 30+(4+2)*seconds {
			t.Errorf("got %d calls in %d seconds", got, seconds)
		}

		time.Sleep(2 * time.Second)
		synctest.Wait()

		if got := seen.Load(); got != changes {
			t.Errorf("got %d links, want %d", got, changes)
		}
	})
}

// Of two that hold, the first has changed the kernel and the last has not: watchers are called at once.
func TestObserverTwoHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			k     netlinktest.Kernel
			woken atomic.Int32
		)

		o := netlink.NewObserver(&k)

		go func() { _ = o.WatchOnly(0, nil)(t.Context(), func() { woken.Add(1) }) }()

		synctest.Wait()
		woken.Store(0)

		first, second := o.Hold(), o.Hold()

		k.Plug(netlink.Link{Name: "l"})
		synctest.Wait()
		first(true)

		if got := woken.Load(); got != 0 {
			t.Errorf("got %d calls while the second holds, want 0", got)
		}

		second(false)

		if got := woken.Load(); got != 1 {
			t.Errorf("got %d calls, want 1", got)
		}
	})
}
