// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// knownLinks has the indexes of the links that specs were found to mean, by the id of the spec; the last is the one that it means now.
// Alternative names go with their documents, perhaps before the specs that mean a link by them, or move to other links: what specs have set must
// still be removed.
type knownLinks map[string][]uint32

// noteLinks returns known with the links that specs have now, and without the specs and links that are no more.
func noteLinks[S layered](known knownLinks, specs held[S], now *netlink.Snapshot, name func(S) string) knownLinks {
	next := make(knownLinks, len(specs.wanted)+len(specs.leaving))

	for _, s := range specs.wanted {
		indexes := known.there(now, s.id)

		if l, ok := now.Link(name(s.spec)); ok {
			indexes = append(slices.DeleteFunc(indexes, func(index uint32) bool { return index == l.Index }), l.Index)
		}

		if len(indexes) > 0 {
			next[s.id] = indexes
		}
	}

	for _, s := range specs.leaving {
		indexes := known.there(now, s.id)

		if l, ok := now.Link(name(s.spec)); ok && len(indexes) == 0 {
			indexes = []uint32{l.Index}
		}

		if len(indexes) > 0 {
			next[s.id] = indexes
		}
	}

	return next
}

// there returns the links of a spec that still exist, as a new slice.
func (k knownLinks) there(now *netlink.Snapshot, id string) (indexes []uint32) {
	for _, index := range k[id] {
		if _, ok := linkOf(now, index); ok {
			indexes = append(indexes, index)
		}
	}

	return indexes
}

// links returns the links of a spec that are there.
func (k knownLinks) links(now *netlink.Snapshot, id string) (out []netlink.Link) {
	for _, index := range k[id] {
		if l, ok := linkOf(now, index); ok {
			out = append(out, l)
		}
	}

	return out
}

// left returns the links that a wanted spec meant before.
func (k knownLinks) left(now *netlink.Snapshot, id, name string) []netlink.Link {
	current, ok := now.Link(name)

	return slices.DeleteFunc(k.links(now, id), func(l netlink.Link) bool { return !ok || l.Index == current.Index })
}

// forget removes a link that has nothing of a spec any more.
func (k knownLinks) forget(id string, index uint32) {
	k[id] = slices.DeleteFunc(k[id], func(known uint32) bool { return known == index })
}

func linkOf(now *netlink.Snapshot, index uint32) (netlink.Link, bool) {
	i := slices.IndexFunc(now.Links, func(l netlink.Link) bool { return l.Index == index })
	if i < 0 {
		return netlink.Link{}, false
	}

	return now.Links[i], true
}
