// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// RouteChange is a route that the kernel has now, or does not have any more.
type RouteChange struct {
	Route Route
	Gone  bool
}

// routeWatcher is a Kernel that also says which routes have changed: a node with thousands of routes must not read all of them after each
// change.
type routeWatcher interface {
	watchRoutes(ctx context.Context, what Groups, changed func(Groups, []RouteChange)) error
}

// errSeveral is the error of a message after which the routes must be read: there may be several with one key.
var errSeveral = errors.New("the message is about several routes")

// decodeRouteChange decodes a message. It returns false for a route that Routes does not return either.
func decodeRouteChange(m netlink.Message) (RouteChange, bool, error) {
	r, ok, err := decodeRoute(m.Data)

	if m.Header.Flags&netlink.Append != 0 || r.Family == unix.AF_INET6 && len(r.NextHops) > 0 {
		return RouteChange{}, false, errSeveral
	}

	return RouteChange{Route: r, Gone: m.Header.Type == unix.RTM_DELROUTE}, ok, err
}

// routeIndex finds routes by their key. The value is the place in the list of routes, or several.
type routeIndex map[Key]int

const several = -1

func indexOf(routes []Route) routeIndex {
	index := make(routeIndex, len(routes))

	for i, r := range routes {
		if _, ok := index[r.Key()]; ok {
			i = several
		}

		index[r.Key()] = i
	}

	return index
}

// apply makes changes in a list of routes, and returns it with what has changed. It returns false if the messages do not say enough: then the routes must be
// read, and the index is not valid any more. The message about a change may arrive after a read that has it.
func (x routeIndex) apply(routes []Route, changes []RouteChange) (next []Route, made []RouteChange, ok bool) {
	next = routes

	for _, c := range changes {
		key := c.Route.Key()
		i, there := x[key]

		switch {
		case i == several:
			return nil, nil, false
		case c.Gone && !there:
			continue
		case c.Gone:
			if !same(next[i], c.Route) {
				return nil, nil, false
			}

			last := len(next) - 1
			if moved := next[last].Key(); x[moved] != several {
				x[moved] = i
			}

			next[i] = next[last]

			next = next[:last]
			delete(x, key)
		case !there:
			x[key] = len(next)
			next = append(next, c.Route)
		case same(next[i], c.Route):
			continue
		case c.Route.Family == unix.AF_INET6: // it may be one more with the same key
			return nil, nil, false
		default:
			made = append(made, RouteChange{Route: next[i], Gone: true})
			next[i] = c.Route
		}

		made = append(made, c)
	}

	return next, made, true
}

func same(a, b Route) bool {
	hops := slices.Equal(a.NextHops, b.NextHops)
	a.NextHops, b.NextHops = nil, nil

	return hops && a.Key() == b.Key() && a.Source == b.Source && a.Gateway == b.Gateway && a.LinkIndex == b.LinkIndex && a.Scope == b.Scope &&
		a.Type == b.Type && a.Flags == b.Flags && a.Protocol == b.Protocol && a.MTU == b.MTU
}

// generation are the changes that made a snapshot from the one before.
type generation struct {
	number uint64
	routes []RouteChange
}

// longestLog is how many generations a snapshot has the changes of.
const longestLog = 16

func (s *Snapshot) routesSince(earlier uint64) ([]RouteChange, bool) {
	missing := int(s.Generation - earlier)
	if earlier == 0 || earlier > s.Generation || missing > len(s.log) {
		return nil, false
	}

	var out []RouteChange
	for _, g := range s.log[len(s.log)-missing:] {
		out = append(out, g.routes...)
	}

	return out, true
}

// Since returns the current state without routes, and the changes of routes since an earlier snapshot, in their order. It returns false if
// more than routes has changed, or the changes are not known.
func (o *Observer) Since(earlier uint64) (*Snapshot, []RouteChange, bool, error) {
	o.reading.Lock()
	defer o.reading.Unlock()

	now, err := o.current(WatchAll)
	if err != nil {
		return nil, nil, false, err
	}

	changes, ok := now.routesSince(earlier)
	own := *now
	own.Routes = nil

	return &own, changes, ok, nil
}

// follow makes the next snapshot from changes of routes. It returns false if the routes must be read.
func (o *Observer) follow(changes []RouteChange) bool {
	if o.index == nil {
		o.index, o.table = indexOf(o.snapshot.Routes), slices.Clone(o.snapshot.Routes)
	}

	routes, made, ok := o.index.apply(o.table, changes)
	if !ok {
		o.index, o.table = nil, nil // the snapshot has its own routes, or they are read

		return false
	}

	o.table = routes

	if len(made) > 0 {
		s := &o.snapshot
		s.Generation++
		s.Routes, o.copied = nil, false

		log := append(slices.Clone(s.log), generation{s.Generation, made})
		s.log = log[max(0, len(log)-longestLog):]
	}

	o.mu.Lock()
	defer o.mu.Unlock()

	o.rest = time.Now().Add(min(time.Duration(len(routes))*restForRoute, longestRoutes))

	return true
}
