// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// knownLinks has the index of each spec's link as it was last found, by the id of the spec. Alternative names go with their documents, perhaps
// before the specs that mean a link by them: what these have set must still be removed.
type knownLinks map[string]uint32

// noteLinks returns known with the links that specs have now, and without the specs that are no more.
func noteLinks[S layered](known knownLinks, specs held[S], now *netlink.Snapshot, name func(S) string) knownLinks {
	next := make(knownLinks, len(specs.wanted)+len(specs.leaving))

	for _, s := range specs.wanted {
		if l, ok := now.Link(name(s.spec)); ok {
			next[s.id] = l.Index
		} else if index, ok := known[s.id]; ok {
			next[s.id] = index
		}
	}

	for _, s := range specs.leaving {
		if l, ok := known.link(now, s.id); ok {
			next[s.id] = l.Index
		} else if l, ok := now.Link(name(s.spec)); ok {
			next[s.id] = l.Index
		}
	}

	return next
}

// link returns the link of a spec, if it is there.
func (k knownLinks) link(now *netlink.Snapshot, id string) (netlink.Link, bool) {
	index, known := k[id]
	if i := slices.IndexFunc(now.Links, func(l netlink.Link) bool { return known && l.Index == index }); i >= 0 {
		return now.Links[i], true
	}

	return netlink.Link{}, false
}
