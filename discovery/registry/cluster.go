// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"time"

	"github.com/seed-59268b81/talos/discovery/extension"
)

// Cluster is a cluster's members and changes. Its methods must not be called at the same time.
type Cluster struct {
	limits  Limits
	entries map[string]*entry
	// oldest and newest are the ends of the log.
	oldest, newest *entry
	// sequence is that of the newest change. Changes up to horizon may have been dropped from the log.
	sequence, horizon uint64
	members, removed  int
	// endpoints of all members.
	endpoints int
	// sum of the hashes of the members.
	sum uint64
	// next is when something may expire; zero: never.
	next time.Time
	// changed is the time of the last change.
	changed time.Time

	cache cache
}

// entry is a member, or the removal of one.
type entry struct {
	id           string
	older, newer *entry
	sequence     uint64
	removed      bool
	// expires is when the member expires, or when it was removed.
	expires time.Time
	// ttl is what its machine asked for last.
	ttl time.Duration
	// encoded is the member as it is sent. data is a part of it.
	encoded, data []byte
	endpoints     []endpoint
	hash          uint64
	slot          uint32
}

type endpoint struct {
	data    string
	expires time.Time
}

// New returns an empty cluster. Its sequence numbers follow after: a watcher may still have one of a cluster that was here before.
func New(limits Limits, after uint64) *Cluster {
	return &Cluster{limits: limits, entries: map[string]*entry{}, sequence: after, horizon: after}
}

// Update adds or refreshes a member. Empty data leaves the data as it is. Endpoints are added to those that the member has. It reports
// whether there is anything to tell watchers. As existing services do, it keeps what came before the endpoint that is too many.
func (c *Cluster) Update(now time.Time, id string, data []byte, endpoints [][]byte, ttl time.Duration) (bool, error) {
	changed := c.Expire(now)
	expires := now.Add(ttl)

	e := c.entries[id]

	if e == nil || e.removed {
		if c.members >= c.limits.Affiliates {
			return changed, ErrAffiliates
		}

		e = c.admit(id, e)
		e.expires = expires
	}

	isNew := e.encoded == nil
	dirty := isNew

	switch {
	case len(data) == 0:
		e.expires = later(e.expires, expires)
	default:
		e.expires, e.ttl = expires, ttl

		if !bytes.Equal(e.data, data) {
			e.data, dirty = data, true
		}
	}

	added, err := c.merge(e, endpoints, expires)

	if dirty || added {
		c.store(now, e)

		changed = true
	}

	c.expiresAt(expires)

	return changed, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}

	return b
}

// admit returns the entry of a new member. There may be an entry of its removal.
func (c *Cluster) admit(id string, e *entry) *entry {
	if e == nil {
		e = &entry{id: id, slot: extension.Slot(id)}
		c.entries[id] = e
	} else {
		e.removed = false
		c.removed--
	}

	c.members++

	return e
}

// merge adds endpoints. A known one is refreshed.
func (c *Cluster) merge(e *entry, endpoints [][]byte, expires time.Time) (added bool, err error) {
next:
	for _, data := range endpoints {
		for i := range e.endpoints {
			if known := &e.endpoints[i]; known.data == string(data) {
				known.expires = later(known.expires, expires)

				continue next
			}
		}

		if len(e.endpoints) >= c.limits.Endpoints {
			return added, ErrEndpoints
		}

		e.endpoints = append(e.endpoints, endpoint{data: string(data), expires: expires})
		c.endpoints++
		added = true
	}

	return added, nil
}

// store encodes a member and puts it at the end of the log.
func (c *Cluster) store(now time.Time, e *entry) {
	texts := make([]string, len(e.endpoints))
	for i := range e.endpoints {
		texts[i] = e.endpoints[i].data
	}

	if e.encoded != nil {
		c.sum -= e.hash
	}

	e.encoded = extension.AppendMember(nil, e.id, e.data, texts)
	e.hash = extension.Hash(e.id, e.data, texts)
	c.sum += e.hash

	// The data is held once, in what is sent.
	if at := bytes.Index(e.encoded, e.data); len(e.data) > 0 && at >= 0 {
		e.data = e.encoded[at : at+len(e.data) : at+len(e.data)]
	}

	c.append(now, e)
}

// Delete removes a member, and reports whether there is anything to tell watchers.
func (c *Cluster) Delete(now time.Time, id string) bool {
	changed := c.Expire(now)

	if e := c.entries[id]; e != nil && !e.removed {
		c.remove(now, e)

		return true
	}

	return changed
}

func (c *Cluster) remove(now time.Time, e *entry) {
	c.members--
	c.removed++
	c.endpoints -= len(e.endpoints)
	c.sum -= e.hash

	e.removed, e.expires = true, now
	e.encoded, e.data, e.endpoints, e.hash = nil, nil, nil, 0

	c.append(now, e)
}

// append moves an entry to the end of the log.
func (c *Cluster) append(now time.Time, e *entry) {
	c.unlink(e)

	c.sequence++
	c.changed = now
	e.sequence = c.sequence
	e.older = c.newest

	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}

	c.newest = e
}

func (c *Cluster) unlink(e *entry) {
	if e.sequence == 0 {
		return
	}

	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}

	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}

	e.older, e.newer = nil, nil
}

// expiresAt notes a time at which something may expire.
func (c *Cluster) expiresAt(at time.Time) {
	if c.next.IsZero() || at.Before(c.next) {
		c.next = at
	}
}

// Expire removes what has expired, and reports whether there is anything to tell watchers. A member that has lost an endpoint has
// changed. It costs nothing before something can have expired.
func (c *Cluster) Expire(now time.Time) bool {
	if c.next.IsZero() || c.next.After(now) {
		return false
	}

	c.next = time.Time{}
	changed := false

	// In the order of the log, so that the same events always lead to the same log. Entries that change move behind last.
	last := c.newest
	for e := c.oldest; e != nil; {
		following, isLast := e.newer, e == last

		if !e.removed && c.expireMember(now, e) {
			changed = true
		}

		if isLast {
			break
		}

		e = following
	}

	return changed
}

func (c *Cluster) expireMember(now time.Time, e *entry) bool {
	if !e.expires.After(now) {
		c.remove(now, e)

		return true
	}

	c.expiresAt(e.expires)

	kept := e.endpoints[:0]

	for _, p := range e.endpoints {
		if p.expires.After(now) {
			kept = append(kept, p)
			c.expiresAt(p.expires)
		}
	}

	lost := len(e.endpoints) - len(kept)
	if lost == 0 {
		return false
	}

	clear(e.endpoints[len(kept):])
	e.endpoints = kept
	c.endpoints -= lost
	c.store(now, e)

	return true
}

// Forget drops old removals from the log, and what was encoded for watchers. Call it from time to time.
func (c *Cluster) Forget(now time.Time) {
	c.cache.drop(now)

	for e := c.oldest; e != nil && c.removed > 0; {
		following := e.newer

		if e.removed && (!e.expires.Add(keepRemoved).After(now) || c.removed > 2*c.limits.Affiliates) {
			c.horizon = max(c.horizon, e.sequence)
			c.removed--
			c.unlink(e)
			delete(c.entries, e.id)
		}

		e = following
	}
}

// Entries returns how many members and removals are held.
func (c *Cluster) Entries() int { return len(c.entries) }

// Members returns how many members and endpoints there are.
func (c *Cluster) Members() (members, endpoints int) { return c.members, c.endpoints }

// Idle reports whether the cluster has neither members nor removals that a watcher may ask for.
func (c *Cluster) Idle() bool { return len(c.entries) == 0 }

// Changed returns when the last change was.
func (c *Cluster) Changed() time.Time { return c.changed }

// Sum returns the sum of the hashes of the members, by which a client knows that it has the same.
func (c *Cluster) Sum() uint64 { return c.sum }

// Member is a member as it is listed and kept in a snapshot.
type Member struct {
	ID   string
	Data []byte
	// TTL is what is left, and Asked what its machine has asked for; 0 if that is not known.
	TTL, Asked time.Duration
	Endpoints  []Endpoint
}

// Endpoint is an endpoint of a Member.
type Endpoint struct {
	Data string
	TTL  time.Duration
}

// All returns the members in the order of their last changes. Data must not be changed.
func (c *Cluster) All(now time.Time) []Member {
	c.Expire(now)

	all := make([]Member, 0, c.members)

	for e := c.oldest; e != nil; e = e.newer {
		if e.removed {
			continue
		}

		m := Member{ID: e.id, Data: e.data, TTL: e.expires.Sub(now), Asked: e.ttl, Endpoints: make([]Endpoint, len(e.endpoints))}
		for i, p := range e.endpoints {
			m.Endpoints[i] = Endpoint{Data: p.data, TTL: p.expires.Sub(now)}
		}

		all = append(all, m)
	}

	return all
}

// Restore adds a member of a snapshot, if it has not expired.
func (c *Cluster) Restore(now time.Time, m Member) error {
	if m.TTL <= 0 {
		return nil
	}

	for i, p := range m.Endpoints {
		if p.TTL > 0 {
			m.Endpoints[i].TTL = min(p.TTL, m.TTL)
		}
	}

	if _, err := c.Update(now, m.ID, m.Data, nil, m.TTL); err != nil {
		return err
	}

	e := c.entries[m.ID]
	e.ttl = m.Asked

	for _, p := range m.Endpoints {
		if p.TTL <= 0 {
			continue
		}

		added, err := c.merge(e, [][]byte{[]byte(p.Data)}, now.Add(p.TTL))
		if err != nil {
			return err
		}

		if added {
			c.expiresAt(now.Add(p.TTL))
			c.store(now, e)
		}
	}

	return nil
}

// Has reports whether there is a member.
func (c *Cluster) Has(id string) bool {
	e := c.entries[id]

	return e != nil && !e.removed
}
