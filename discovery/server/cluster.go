// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync"
	"sync/atomic"
	"time"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/registry"
)

// Changes are collected for a window, which is longer when they have many watchers. The first change of a quiet period is sent at once.
const (
	minWindow        = 100 * time.Millisecond
	maxWindow        = 250 * time.Millisecond
	windowPerWatcher = 30 * time.Microsecond
)

// cluster is a registry with a lock, and what wakes its watchers.
type cluster struct {
	// users are calls that use the cluster: it is not removed meanwhile. The lock of clusters guards it.
	users int

	mu       sync.Mutex
	log      *registry.Cluster
	watchers int
	// wake is closed at the next flush.
	wake    chan struct{}
	flushed time.Time
	// pending is the timer of the next flush.
	pending *time.Timer
	// told and held are how many members and entries the service's counts have of this cluster.
	told, held int64
	of         *clusters
}

func (c *cluster) update(now time.Time, in *serverapi.AffiliateUpdateRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	changed, err := c.log.Update(now, in.GetAffiliateId(), in.GetAffiliateData(), in.GetAffiliateEndpoints(), in.GetTtl().AsDuration())
	c.tell(now, changed)

	return err
}

func (c *cluster) delete(now time.Time, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.tell(now, c.log.Delete(now, id))
}

func (c *cluster) has(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.log.Has(id)
}

// tell wakes the watchers, at once or at the end of the window.
func (c *cluster) tell(now time.Time, changed bool) {
	if !changed {
		return
	}

	c.of.changes.Add(1)
	c.count()

	if c.watchers == 0 || c.pending != nil {
		return
	}

	window := min(minWindow+time.Duration(c.watchers)*windowPerWatcher, maxWindow)

	rest := c.flushed.Add(window).Sub(now)
	if rest <= 0 {
		c.flush(now)

		return
	}

	c.pending = time.AfterFunc(rest, func() {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.pending = nil
		c.flush(time.Now())
	})
}

// count brings the service's counts up to date.
func (c *cluster) count() {
	members, _ := c.log.Members()
	c.of.total.Add(int64(members) - c.told)
	c.told = int64(members)

	entries := int64(c.log.Entries())
	c.of.entries.Add(entries - c.held)
	c.held = entries
}

// present returns the log as it is now. Watchers are told about what has expired.
func (c *cluster) present(now time.Time) *registry.Cluster {
	c.tell(now, c.log.Expire(now))

	return c.log
}

// expire removes what has expired.
func (c *cluster) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.present(now)
}

func (c *cluster) flush(now time.Time) {
	c.flushed = now

	close(c.wake)
	c.wake = make(chan struct{})
}

// clusters are all clusters of the service.
type clusters struct {
	limits registry.Limits
	// total is how many members there are, entries how many with removals, changes how many changes there were.
	total, entries, changes atomic.Int64

	mu sync.Mutex
	of map[string]*cluster
	// last is the largest sequence number of the clusters that were removed.
	last                               uint64
	sweeps, removed, removedAffiliates int64
}

// hold returns a cluster, which is made if there is none. It exists until done is called.
func (cs *clusters) hold(id string) (c *cluster, done func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()

	c, ok := cs.of[id]
	if !ok {
		c = &cluster{log: registry.New(cs.limits, cs.last), wake: make(chan struct{}), of: cs}
		cs.of[id] = c
	}

	c.users++

	return c, func() { cs.release(id, c) }
}

// find returns a cluster, or nil. It exists until done is called.
func (cs *clusters) find(id string) (c *cluster, done func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()

	c, ok := cs.of[id]
	if !ok {
		return nil, nil
	}

	c.users++

	return c, func() { cs.release(id, c) }
}

// release removes a cluster that has nothing and that no call uses.
func (cs *clusters) release(id string, c *cluster) {
	cs.mu.Lock()
	defer cs.mu.Unlock()

	if c.users--; c.users == 0 {
		cs.discard(id, c)
	}
}

func (cs *clusters) discard(id string, c *cluster) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.users > 0 || !c.log.Idle() {
		return false
	}

	delete(cs.of, id)
	cs.last = max(cs.last, c.log.Sequence())
	cs.removed++

	return true
}

// all returns the clusters, held.
func (cs *clusters) all() (map[string]*cluster, func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()

	all := make(map[string]*cluster, len(cs.of))

	for id, c := range cs.of {
		c.users++
		all[id] = c
	}

	return all, func() {
		for id, c := range all {
			cs.release(id, c)
		}
	}
}

// sweep removes what has expired, and with forget also what is no longer needed.
func (cs *clusters) sweep(now time.Time, forget bool) {
	all, done := cs.all()
	defer done()

	var gone int64

	for _, c := range all {
		gone += c.sweep(now, forget)
	}

	cs.mu.Lock()
	defer cs.mu.Unlock()

	cs.sweeps++
	cs.removedAffiliates += gone
}

func (c *cluster) sweep(now time.Time, forget bool) (gone int64) {
	c.mu.Lock()
	defer c.mu.Unlock()

	before, _ := c.log.Members()
	c.tell(now, c.log.Expire(now))
	after, _ := c.log.Members()

	if forget {
		c.log.Forget(now)
		c.count()
	}

	return int64(before - after)
}

func (cs *clusters) counts() (n Counts) {
	all, done := cs.all()
	defer done()

	for _, c := range all {
		c.mu.Lock()
		members, endpoints := c.log.Members()
		c.mu.Unlock()

		n.Affiliates += members
		n.Endpoints += endpoints
	}

	cs.mu.Lock()
	defer cs.mu.Unlock()

	n.Clusters = len(all)
	n.Sweeps, n.RemovedClusters, n.RemovedAffiliates = cs.sweeps, cs.removed, cs.removedAffiliates

	return n
}
