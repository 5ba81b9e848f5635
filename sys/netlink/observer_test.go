// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestLook: a look at links reads nothing else, and the next snapshot has what the look left out.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k netlinktest.Kernel

		eth0 := k.Plug(netlink.Link{Name: "eth0", Flags: 1}).Index
		o := netlink.NewObserver(&k)

		go func() { _ = o.WatchOnly(0, nil)(t.Context(), func() {}) }()

		synctest.Wait()

		first, err := o.Snapshot()
		if err != nil {
			t.Fatal(err)
		}

		mtu := uint32(1400)
		if err := errors.Join(k.AddAddress(netlink.Address{LinkIndex: eth0, Prefix: netip.MustParsePrefix("192.0.2.2/24")}), k.SetLink(eth0, netlink.LinkChange{MTU: &mtu})); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		before := k.Reads()

		for range 2 {
			if s, err := o.Look(netlink.WatchLinks); err != nil || s.Links[0].MTU != mtu || len(s.Addresses) != 0 || s.Generation != first.Generation+1 {
				t.Errorf("a look at links: got %+v, %v", s, err)
			}
		}

		if n := k.Reads() - before; n != 1 {
			t.Errorf("two looks at links: got %d reads, want 1", n)
		}

		if s, err := o.Snapshot(); err != nil || len(s.Addresses) != 1 || len(s.Routes) != 1 || s.Generation != first.Generation+2 {
			t.Errorf("the snapshot after them: got %+v, %v", s, err)
		}

		if n := k.Reads() - before; n != 3 {
			t.Errorf("with the snapshot: got %d reads, want 3", n)
		}
	})
}

// For six watchers an event causes one read, and only of the groups that may have changed.
func TestObserverReadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k netlinktest.Kernel

		eth0 := k.Plug(netlink.Link{Name: "eth0", Flags: 1}).Index
		o := netlink.NewObserver(&k)

		var woken atomic.Int32

		for range 6 {
			go func() { _ = o.WatchOnly(0, nil)(t.Context(), func() { woken.Add(1) }) }()
		}

		synctest.Wait()

		look := func() *netlink.Snapshot {
			t.Helper()

			var s *netlink.Snapshot

			for range 6 {
				var err error
				if s, err = o.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}

			return s
		}

		first := look()
		before, told := k.Reads(), woken.Load()

		look()

		if n := k.Reads() - before; n != 0 {
			t.Errorf("nothing has changed: got %d reads, want 0", n)
		}

		if err := k.AddAddress(netlink.Address{LinkIndex: eth0, Prefix: netip.MustParsePrefix("192.0.2.2/24")}); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		second := look()

		if n := k.Reads() - before; n != 2 { // addresses and routes
			t.Errorf("an address has come: got %d reads, want 2", n)
		}

		if n := woken.Load() - told; n != 6 {
			t.Errorf("got %d wake-ups, want 6", n)
		}

		if second.Generation != first.Generation+1 || len(second.Routes) != 1 || len(first.Routes) != 0 {
			t.Errorf("got generations %d and %d, routes %v and %v", first.Generation, second.Generation, first.Routes, second.Routes)
		}
	})
}

// After a change through the observer the next snapshot has it, without an event of the kernel.
func TestObserverSeesItsOwnChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k netlinktest.Kernel

		eth0 := k.Plug(netlink.Link{Name: "eth0", AltNames: []string{"enp0s3"}}).Index
		o := netlink.NewObserver(&k)

		go func() { _ = o.WatchOnly(0, nil)(t.Context(), func() {}) }()

		synctest.Wait()

		if _, err := o.Snapshot(); err != nil {
			t.Fatal(err)
		}

		up := true
		if err := o.Change(netlink.WatchLinks, func(k netlink.Kernel) error { return k.SetLink(eth0, netlink.LinkChange{Up: &up}) }); err != nil {
			t.Fatal(err)
		}

		s, err := o.Snapshot()
		if err != nil {
			t.Fatal(err)
		}

		if l, ok := s.Link("enp0s3"); !ok || !l.Up() {
			t.Errorf("got %+v, %t, want a link that is up", l, ok)
		}
	})
}

// slow is a kernel with slow lists.
type slow struct{ netlinktest.Kernel }

func (s *slow) Links() ([]netlink.Link, error) {
	time.Sleep(10 * time.Millisecond)

	return s.Kernel.Links()
}

// A hundred events a second cause fewer reads, and the last event is not lost.
func TestObserverInFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k slow

		o := netlink.NewObserver(&k)
		wake := make(chan struct{}, 1)

		go func() {
			_ = o.WatchOnly(0, nil)(t.Context(), func() {
				select {
				case wake <- struct{}{}:
				default:
				}
			})
		}()

		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()

		go func() {
			for range 1000 {
				k.Plug(netlink.Link{Name: "l"})
				time.Sleep(10 * time.Millisecond)
			}
		}()

		var (
			last *netlink.Snapshot
			err  error
			busy time.Duration
		)

		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-wake:
				started := time.Now()
				if last, err = o.Snapshot(); err != nil {
					t.Fatal(err)
				}

				busy += time.Since(started)
			}
		}

		if len(last.Links) != 1000 {
			t.Errorf("the last look: got %d links, want 1000", len(last.Links))
		}

		if busy > time.Second {
			t.Errorf("ten seconds of events took %s, want a tenth at most", busy)
		}
	})
}

// Some changes after a quiet time are followed at once, although each read takes long.
func TestObserverInBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k slow

		o := netlink.NewObserver(&k)
		wake := make(chan struct{}, 1)

		go func() {
			_ = o.WatchOnly(0, nil)(t.Context(), func() {
				select {
				case wake <- struct{}{}:
				default:
				}
			})
		}()

		started := time.Now()

		const changes = 15

		for n := 1; n <= changes; n++ {
			k.Plug(netlink.Link{Name: "l"})

			for seen := 0; seen < n; {
				<-wake

				s, err := o.Snapshot()
				if err != nil {
					t.Fatal(err)
				}

				seen = len(s.Links)
			}
		}

		if took := time.Since(started); took > time.Second {
			t.Errorf("%d changes were seen after %s, want a second at most", changes, took)
		}
	})
}

var errLost = errors.New("the socket is lost")

type deaf struct{ netlinktest.Kernel }

func (*deaf) Watch(context.Context, netlink.Groups, func(netlink.Groups)) error { return errLost }

// The error of a watch is passed to all watchers; they start it again. Without a watch everything is read.
func TestObserverFails(t *testing.T) {
	var k deaf

	o := netlink.NewObserver(&k)

	for range 2 {
		if err := o.WatchOnly(0, nil)(t.Context(), func() {}); !errors.Is(err, errLost) {
			t.Errorf("got %v, want %v", err, errLost)
		}
	}

	k.Plug(netlink.Link{Name: "eth0"})

	for want := 1; want < 3; want++ {
		s, err := o.Snapshot()
		if err != nil || len(s.Links) != want {
			t.Errorf("got %+v, %v, want %d links", s, err, want)
		}

		k.Plug(netlink.Link{Name: "eth1"})
	}
}

// On the real kernel: a link that goes down loses its routes without an event, and the snapshot has that.
func TestObserverOfTheRealKernel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, _ := veth(t, k)
	o := netlink.NewObserver(k)
	wake := make(chan struct{}, 1)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	go func() {
		ended <- o.WatchOnly(0, nil)(ctx, func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
	}()

	until := func(what string, holds func(*netlink.Snapshot) bool) {
		t.Helper()

		for deadline := time.After(10 * time.Second); ; {
			s, err := o.Snapshot()
			if err != nil {
				t.Fatal(err)
			}

			if holds(s) {
				return
			}

			select {
			case <-wake:
			case <-deadline:
				t.Fatalf("%s: not seen in %+v", what, s)
			}
		}
	}

	has := func(s *netlink.Snapshot) bool {
		for _, r := range s.Routes {
			if r.Destination == netip.MustParsePrefix("192.0.2.0/24") {
				return true
			}
		}

		return false
	}

	if err := k.AddAddress(netlink.Address{LinkIndex: a.Index, Prefix: netip.MustParsePrefix("192.0.2.2/24")}); err != nil {
		t.Fatal(err)
	}

	until("the route of an address", has)

	if err := k.SetLink(a.Index, netlink.LinkChange{Up: ptr(false)}); err != nil {
		t.Fatal(err)
	}

	until("the route removed with its link", func(s *netlink.Snapshot) bool { return !has(s) })

	if l := linkNamed(t, k, "va"); l.MinMTU != 68 || l.MaxMTU != 65535 {
		t.Errorf("got MTUs from %d to %d, want 68 to 65535", l.MinMTU, l.MaxMTU)
	}

	cancel()

	if err := <-ended; err != nil {
		t.Error(err)
	}
}
