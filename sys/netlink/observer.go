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

	// log has the changes of the latest generations, if only routes have changed; the latest is the last.
	log []generation
}

// Observer is a shared view of a Kernel: one socket that receives changes, and one snapshot, of which only the changed groups are read
// again when it is requested; of routes only the changes, where the kernel says what they are. Changes of the kernel are made through it
// too, so that the next snapshot has them.
//
// In a flood of changes watchers are called less often: reads take at most a twentieth of the time. The first of them, up to a quarter of a
// second, are free: a burst, such as the links of a new configuration, is followed at once.
type Observer struct {
	kernel Kernel

	reading  sync.Mutex // held while the kernel is read
	snapshot Snapshot
	// Changes of single routes are made in table, of which the snapshot gets a copy when it is needed: copied is whether it has one.
	table  []Route
	index  routeIndex // of table; nil if both must be made
	copied bool

	mu       sync.Mutex
	dirty    Groups
	routes   []RouteChange // of the kernel since the snapshot, unless all routes are dirty
	told     Groups        // what has changed since the watchers were called
	toldWays []RouteChange
	watching bool // the kernel reports changes
	watchers map[*watcher]struct{}
	stop     context.CancelFunc // of the watch
	timer    *time.Timer        // of a delayed wake-up
	rest     time.Time          // until when wake-ups are delayed
	paid     time.Time          // when all reads so far are a twentieth of the time
	holds    int                // how many hold wake-ups back
	owed     bool               // one of them has changed the kernel
	early    time.Time          // when the watchers were last called because of that, or will be
}

type watcher struct {
	what       Groups
	interested func([]RouteChange) bool // nil is always
	changed    func()
	failed     chan error
}

// Pauses between reads in a flood of changes.
const (
	restFactor = 20
	longest    = time.Second
	// credit is how much earlier than paid the watchers are called.
	credit = 5 * time.Second
	// between is at least the time between calls that do not wait for the rest, because this system itself made several changes.
	between = 250 * time.Millisecond
	// After changes of single routes the pause grows with the number of routes, which are copied.
	restForRoute  = 2 * time.Microsecond
	longestRoutes = 25 * time.Millisecond
)

// mostChanges is how many changes of routes are kept until the next snapshot; if there are more, the routes are read.
const mostChanges = 4096

// NewObserver returns an observer of a kernel.
func NewObserver(k Kernel) *Observer {
	return &Observer{kernel: k, watchers: map[*watcher]struct{}{}}
}

// Snapshot returns the current state of the kernel.
func (o *Observer) Snapshot() (*Snapshot, error) { return o.Look(WatchAll) }

// Look is Snapshot for a caller that needs only some groups: the others may be those of an earlier snapshot.
func (o *Observer) Look(what Groups) (*Snapshot, error) {
	o.reading.Lock()
	defer o.reading.Unlock()

	now, err := o.current(what)
	if err != nil {
		return nil, err
	}

	if what&WatchRoutes != 0 && o.index != nil && !o.copied {
		o.snapshot.Routes, o.copied = slices.Clone(o.table), true
		now = &o.snapshot
	}

	own := *now

	return &own, nil
}

// current brings groups of the snapshot up to date, except for the copy of routes. The others stay as they are, and dirty. The lock of reads is held.
func (o *Observer) current(what Groups) (*Snapshot, error) {
	o.mu.Lock()
	dirty := o.dirty

	if !o.watching { // changes are not reported
		dirty = WatchAll
	}

	o.dirty, dirty = dirty&^what, dirty&what

	var routes []RouteChange
	if what&WatchRoutes != 0 {
		routes, o.routes = o.routes, nil
	}
	o.mu.Unlock()

	if dirty&WatchRoutes == 0 && len(routes) > 0 && !o.follow(routes) {
		dirty |= WatchRoutes
	}

	if dirty == 0 {
		return &o.snapshot, nil
	}

	next, started := o.snapshot, time.Now()
	next.log = nil

	if dirty&WatchRoutes != 0 {
		o.index, o.table = nil, nil
	} else if o.index != nil && !o.copied {
		o.snapshot.Routes, o.copied = slices.Clone(o.table), true
		next.Routes = o.snapshot.Routes
	}

	if err := next.read(o.kernel, dirty); err != nil {
		o.index, o.table = nil, nil
		o.mark(dirty | WatchRoutes)

		return nil, err
	}

	o.pay(time.Since(started))

	if next.Generation == 0 || !next.same(&o.snapshot) {
		next.Generation++
		o.snapshot = next
	}

	return &o.snapshot, nil
}

// pay determines until when wake-ups are delayed after a read that took some time.
func (o *Observer) pay(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()

	now := time.Now()
	if o.paid.Before(now) {
		o.paid = now
	}

	o.paid = o.paid.Add(took * restFactor)
	if limit := now.Add(credit + longest); o.paid.After(limit) {
		o.paid = limit
	}

	o.rest = o.paid.Add(-credit)
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

// WatchOnly returns a watch for changes of these groups; 0 is all. A watch calls changed at the start and after changes, until the context
// ends; changed must not block. If single routes have changed, interested decides; nil is always interested. It must not block. All callers
// share one watch of the kernel.
func (o *Observer) WatchOnly(what Groups, interested func([]RouteChange) bool) func(context.Context, func()) error {
	if what == 0 {
		what = WatchAll
	}

	return func(ctx context.Context, changed func()) error {
		return o.attend(ctx, &watcher{what: what, interested: interested, changed: changed, failed: make(chan error, 1)})
	}
}

func (o *Observer) attend(ctx context.Context, w *watcher) error {
	o.mu.Lock()
	o.watchers[w] = struct{}{}

	if o.stop == nil {
		watchCtx, stop := context.WithCancel(context.Background())
		o.stop = stop

		guard.Go(func() error { o.watch(watchCtx); return nil })
	}
	o.mu.Unlock()

	w.changed()

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
		if k, ok := o.kernel.(routeWatcher); ok {
			return k.watchRoutes(ctx, WatchAll, func(what Groups, routes []RouteChange) { o.note(ctx, what, routes) })
		}

		return o.kernel.Watch(ctx, WatchAll, func(what Groups) { o.note(ctx, what, nil) })
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

// note records changes of the kernel, and calls the watchers.
func (o *Observer) note(ctx context.Context, what Groups, routes []RouteChange) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if ctx.Err() != nil || what == 0 && len(routes) == 0 {
		return
	}

	if len(o.routes)+len(routes) > mostChanges || len(o.toldWays)+len(routes) > mostChanges {
		what |= WatchRoutes
	}

	o.watching = true
	o.dirty |= what
	o.told |= what

	if o.dirty&WatchRoutes == 0 {
		o.routes = append(o.routes, routes...)
	} else {
		o.routes = nil
	}

	if o.told&WatchRoutes == 0 {
		o.toldWays = append(o.toldWays, routes...)
	} else {
		o.toldWays = nil
	}

	o.wake(ctx)
}

// wake calls the watchers, now or after the pause. The lock is held.
func (o *Observer) wake(ctx context.Context) {
	if o.timer != nil {
		return
	}

	rest := time.Until(o.rest)
	if o.holds > 0 {
		rest = longest
	}

	if rest > 0 {
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
	what, routes := o.told, o.toldWays
	o.told, o.toldWays = 0, nil

	for w := range o.watchers {
		if w.what&what != 0 || len(routes) > 0 && w.what&WatchRoutes != 0 && (w.interested == nil || w.interested(routes)) {
			w.changed()
		}
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
	o.told |= what
	o.callWatchers()
}
