// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRouteChanges(t *testing.T) {
	v4 := func(dst string, link uint32) Route {
		return Route{Family: unix.AF_INET, Destination: netip.MustParsePrefix(dst), LinkIndex: link, Table: 254}
	}
	v6 := func(dst string, link uint32) Route {
		return Route{Family: unix.AF_INET6, Destination: netip.MustParsePrefix(dst), LinkIndex: link, Table: 254}
	}
	a, b, other := v4("192.0.2.0/24", 1), v4("198.51.100.0/24", 1), v4("192.0.2.0/24", 2)
	multicast1, multicast2 := v6("ff00::/8", 1), v6("ff00::/8", 2)
	ways := v4("203.0.113.0/24", 0)
	ways.NextHops = []NextHop{{LinkIndex: 1, Weight: 1}, {LinkIndex: 2, Weight: 1}}

	here := func(r Route) RouteChange { return RouteChange{Route: r} }
	gone := func(r Route) RouteChange { return RouteChange{Route: r, Gone: true} }

	for _, tt := range []struct {
		name    string
		now     []Route
		changes []RouteChange
		want    []Route
		made    []RouteChange
		unknown bool // the routes must be read
	}{
		{"nothing", []Route{a}, nil, []Route{a}, nil, false},
		{"one more", []Route{a}, []RouteChange{here(b)}, []Route{a, b}, []RouteChange{here(b)}, false},
		{"one less", []Route{a, b, ways}, []RouteChange{gone(a)}, []Route{ways, b}, []RouteChange{gone(a)}, false},
		{"the last", []Route{a}, []RouteChange{gone(a)}, []Route{}, []RouteChange{gone(a)}, false},
		{"two less", []Route{a, b, ways}, []RouteChange{gone(a), gone(ways)}, []Route{b}, []RouteChange{gone(a), gone(ways)}, false},
		{"replaced", []Route{a, b}, []RouteChange{here(other)}, []Route{other, b}, []RouteChange{gone(a), here(other)}, false},
		{"known already", []Route{a, ways}, []RouteChange{here(a), here(ways), gone(b)}, []Route{a, ways}, nil, false},
		{"known already, then another", []Route{other}, []RouteChange{here(a), here(other)}, []Route{other}, []RouteChange{gone(other), here(a), gone(a), here(other)}, false},
		{"come and gone", []Route{a}, []RouteChange{here(b), gone(b), here(b)}, []Route{a, b}, []RouteChange{here(b), gone(b), here(b)}, false},
		{"less, beside several of one key", []Route{a, multicast1, multicast2}, []RouteChange{gone(a), here(b)}, []Route{multicast2, multicast1, b}, []RouteChange{gone(a), here(b)}, false},
		{"several of one key", []Route{multicast1, multicast2}, []RouteChange{gone(multicast1)}, nil, nil, true},
		{"one more of a key", []Route{multicast1}, []RouteChange{here(multicast2)}, nil, nil, true},
		{"another is gone", []Route{other}, []RouteChange{gone(a)}, nil, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := indexOf(tt.now)

			next, made, ok := x.apply(slices.Clone(tt.now), tt.changes)

			if ok == tt.unknown || !slices.EqualFunc(next, tt.want, same) {
				t.Errorf("got %v, %t, want %v, %t", next, ok, tt.want, !tt.unknown)
			}

			if !slices.EqualFunc(made, tt.made, func(a, b RouteChange) bool { return a.Gone == b.Gone && same(a.Route, b.Route) }) {
				t.Errorf("got changes %v, want %v", made, tt.made)
			}

			for key, i := range indexOf(next) {
				if ok && x[key] != i {
					t.Errorf("the index of %v is %d, want %d", key, x[key], i)
				}
			}
		})
	}
}
