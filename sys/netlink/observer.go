// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// Snapshot is the kernel's network as it was last read. It is immutable.
type Snapshot struct {
	// Generation grows with each snapshot that differs from the one before.
	Generation uint64

	Links     []Link
	Addresses []Address
	Routes    []Route
	Rules     []Rule
}

// Observer is a shared view of a Kernel: one socket that receives changes, and one snapshot, of which only the changed groups are read
// again when it is requested. Changes of the kernel are made through it too, so that the next snapshot has them.
//
// In a flood of changes watchers are called less often: reads take at most a twentieth of the time.
type Observer struct {
	kernel Kernel

	reading  sync.Mutex // held while the kernel is read
	snapshot Snapshot

	mu       sync.Mutex
	dirty    Groups
	watching bool // the kernel reports changes
	watchers map[*watcher]struct{}
	stop     context.CancelFunc // of the watch
	timer    *time.Timer        // of a delayed wake-up
	rest     time.Time          // until when wake-ups are delayed
}

type watcher struct {
	changed func()
	failed  chan error
}

// Pauses between reads in a flood of changes.
const (
	restFactor = 20
	longest    = time.Second
)

// NewObserver returns an observer of a kernel.
func NewObserver(k Kernel) *Observer {
	return &Observer{kernel: k, watchers: map[*watcher]struct{}{}}
}

// Snapshot returns the current state of the kernel.
func (o *Observer) Snapshot() (*Snapshot, error) {
	o.reading.Lock()
	defer o.reading.Unlock()

	o.mu.Lock()
	dirty := o.dirty
	o.dirty = 0

	if !o.watching { // changes are not reported
		dirty = WatchAll
	}
	o.mu.Unlock()

	if dirty == 0 {
		now := o.snapshot

		return &now, nil
	}

	next, started := o.snapshot, time.Now()

	if err := next.read(o.kernel, dirty); err != nil {
		o.mark(dirty)

		return nil, err
	}

	o.mu.Lock()
	o.rest = time.Now().Add(min(time.Since(started)*restFactor, longest))
	o.mu.Unlock()

	if next.Generation == 0 || !next.same(&o.snapshot) {
		next.Generation++
		o.snapshot = next
	}

	now := o.snapshot

	return &now, nil
}

func (s *Snapshot) read(k Kernel, what Groups) (err error) {
	if what&WatchLinks != 0 {
		if s.Links, err = k.Links(); err != nil {
			return err
		}
	}

	if what&WatchAddresses != 0 {
		if s.Addresses, err = k.Addresses(); err != nil {
			return err
		}
	}

	if what&WatchRoutes != 0 {
		if s.Routes, err = k.Routes(); err != nil {
			return err
		}
	}

	if what&WatchRules != 0 {
		s.Rules, err = k.Rules()
	}

	return err
}

func (s *Snapshot) same(o *Snapshot) bool {
	return reflect.DeepEqual(s.Links, o.Links) && reflect.DeepEqual(s.Addresses, o.Addresses) && reflect.DeepEqual(s.Routes, o.Routes) &&
		slices.Equal(s.Rules, o.Rules)
}

// Link returns the link with a name; a link's own name has precedence over alternative names.
func (s *Snapshot) Link(name string) (Link, bool) {
	for _, l := range s.Links {
		if l.Name == name {
			return l, true
		}
	}

	for _, l := range s.Links {
		if l.Named(name) {
			return l, true
		}
	}

	return Link{}, false
}

// LinkNames maps indexes to names.
func (s *Snapshot) LinkNames() map[uint32]string {
	names := make(map[uint32]string, len(s.Links))
	for _, l := range s.Links {
		names[l.Index] = l.Name
	}

	return names
}

// Watch calls changed at the start and after changes, until the context ends. changed must not block. All callers share one watch of the
// kernel.
func (o *Observer) Watch(ctx context.Context, changed func()) error {
	w := &watcher{changed: changed, failed: make(chan error, 1)}

	o.mu.Lock()
	o.watchers[w] = struct{}{}

	if o.stop == nil {
		watchCtx, stop := context.WithCancel(context.Background())
		o.stop = stop

		guard.Go(func() error { o.watch(watchCtx); return nil })
	}
	o.mu.Unlock()

	changed()

	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()

		delete(o.watchers, w)

		if len(o.watchers) == 0 && o.stop != nil {
			o.end()
		}
	}()

	select {
	case <-ctx.Done():
		return nil
	case err := <-w.failed:
		return err
	}
}

// end stops the watch of the kernel. The lock is held.
func (o *Observer) end() {
	o.stop()
	o.stop, o.watching = nil, false

	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// watch calls the watchers after each change, and passes its own error to them.
func (o *Observer) watch(ctx context.Context) {
	err := guard.Call(func() error {
		return o.kernel.Watch(ctx, WatchAll, func(what Groups) {
			o.mu.Lock()
			defer o.mu.Unlock()

			if ctx.Err() != nil || what == 0 {
				return
			}

			o.watching = true
			o.dirty |= what
			o.wake(ctx)
		})
	})

	o.mu.Lock()
	defer o.mu.Unlock()

	if ctx.Err() != nil { // there may be another watch by now
		return
	}

	o.end()

	for w := range o.watchers {
		w.failed <- err

		delete(o.watchers, w)
	}
}

// wake calls the watchers, now or after the pause. The lock is held.
func (o *Observer) wake(ctx context.Context) {
	if o.timer != nil {
		return
	}

	if rest := time.Until(o.rest); rest > 0 {
		o.timer = time.AfterFunc(rest, func() {
			o.mu.Lock()
			defer o.mu.Unlock()

			if ctx.Err() == nil {
				o.timer = nil
				o.callWatchers()
			}
		})

		return
	}

	o.callWatchers()
}

func (o *Observer) callWatchers() {
	for w := range o.watchers {
		w.changed()
	}
}

func (o *Observer) mark(what Groups) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.dirty |= what
}

// WatchRouterOptions calls that of the kernel.
func (o *Observer) WatchRouterOptions(ctx context.Context, said func(RouterOption)) error {
	return o.kernel.WatchRouterOptions(ctx, said)
}

// Change calls do, which changes the kernel, and marks the groups that it changes: the next Snapshot reads them again.
func (o *Observer) Change(what Groups, do func(Kernel) error) error {
	defer o.mark(what)

	return do(o.kernel)
}

// Announce wakes all watchers, for a change that the kernel does not report.
func (o *Observer) Announce(what Groups) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.dirty |= what
	o.callWatchers()
}
