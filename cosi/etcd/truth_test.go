// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"sort"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// truth is the history of etcd in one of its lives. The second life begins with a snapshot of the first.
type truth struct {
	changes []change
	byID    map[string][]change
}

// change is one event of etcd, or of a watch.
type change struct {
	typ      state.EventType
	id       string
	resource resource.Resource // nil for a destruction
	revision int64             // of etcd
	life     int               // in which a watch reported it
}

// same reports whether two changes are the same one. The time of a version makes it unique.
func (c change) same(d change) bool {
	if c.typ != d.typ || c.id != d.id || (c.resource == nil) != (d.resource == nil) {
		return false
	}

	return c.resource == nil ||
		resource.Equal(c.resource, d.resource) && c.resource.Metadata().Updated().Equal(d.resource.Metadata().Updated())
}

// readTruth reads the history of all resources under a prefix, after all writes.
func readTruth(ctx context.Context, client *clientv3.Client, prefix string) (truth, error) {
	end, err := client.Put(ctx, prefix+"/end", "")
	if err != nil {
		return truth{}, err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	t, there := truth{byID: map[string][]change{}}, map[string]bool{}

	for res := range client.Watch(ctx, prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(1)) {
		if err := res.Err(); err != nil {
			return truth{}, err
		}

		for _, ev := range res.Events {
			if ev.Kv.ModRevision == end.Header.Revision {
				return t, nil
			}

			c := change{typ: state.Destroyed, id: idOf(string(ev.Kv.Key)), revision: ev.Kv.ModRevision}

			if ev.Type == clientv3.EventTypePut {
				if c.resource, err = resource.UnmarshalWire(ev.Kv.Value, false); err != nil {
					return truth{}, err
				}

				if c.typ = state.Created; there[c.id] {
					c.typ = state.Updated
				}
			}

			there[c.id] = c.resource != nil
			t.changes = append(t.changes, c)
			t.byID[c.id] = append(t.byID[c.id], c)
		}
	}

	return t, ctx.Err()
}

func idOf(key string) string {
	for i := len(key) - 1; ; i-- {
		if key[i] == '/' {
			return key[i+1:]
		}
	}
}

// between returns the version of a resource at a revision, and its changes up to another revision. Only changes in between
// have a revision.
func (t *truth) between(id string, from, to int64) (was resource.Resource, changes []change) {
	all := t.byID[id]
	first := sort.Search(len(all), func(i int) bool { return all[i].revision > from })
	after := sort.Search(len(all), func(i int) bool { return all[i].revision > to })

	if first > 0 {
		was = all[first-1].resource
	}

	return was, all[first:max(first, after)]
}

type contents map[string]resource.Resource

func (c contents) apply(ch change) {
	if ch.resource == nil {
		delete(c, ch.id)
	} else {
		c[ch.id] = ch.resource
	}
}

func (c contents) equal(d contents) bool {
	if len(c) != len(d) {
		return false
	}

	for id, r := range c {
		if d[id] == nil || !(change{resource: r}).same(change{resource: d[id]}) {
			return false
		}
	}

	return true
}

func contentsAfter(changes []change) contents {
	c := contents{}
	for _, ch := range changes {
		c.apply(ch)
	}

	return c
}

// lost returns how many events a reader has missed, given those that it received. They must begin with the events of the
// first life and end with those of the second. In between, after etcd was restored, come changes from one to the other.
func lost(told []change, first, second truth) int {
	begin := 0
	for begin < len(told) && begin < len(first.changes) && told[begin].same(first.changes[begin]) {
		begin++
	}

	end := 0
	for end < len(told) && end < len(second.changes) && told[len(told)-1-end].same(second.changes[len(second.changes)-1-end]) {
		end++
	}

	for n := end; n >= 0; n-- {
		at := len(told) - n
		between := told[min(begin, at):at]

		if len(between) > 0 && between[0].life < 2 {
			continue
		}

		if contentsAfter(told[:at]).equal(contentsAfter(second.changes[:len(second.changes)-n])) {
			return 0
		}

		if end-n > len(told) {
			break
		}
	}

	return max(1, len(second.changes)-end)
}
