// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"regexp"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

func (b *bench) label(id, key, value string) {
	b.Helper()

	b.edit(id, func(i Item) {
		if value == "" {
			i.Metadata().DeleteLabel(key)
		} else {
			i.Metadata().SetLabel(key, value)
		}
	})
}

var filterTests = []test{
	{"watch of labels", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		b.labelled("in", map[string]string{"app": "x"})
		b.labelled("out", map[string]string{"app": "y"})

		s := watch(state.WithBootstrapContents(), state.WithKindLabelQuery(resource.LabelIs("app", "x")), state.WithKindLabelQuery(resource.HasLabel("also")))
		s.want(state.Created, "in", 1)
		s.marker(state.Bootstrapped)

		b.set("out", "2")       // matches neither query
		b.label("in", "k", "v") // matches both
		s.live(state.Updated, "in", 2)
		b.label("in", "app", "y") // matches no longer

		if ev := s.want(state.Destroyed, "in", 3); len(ev.Bookmark) == 0 || b.item(ev.Resource).TypedSpec().Value != "in" {
			b.Errorf("%s has no bookmark, or not the new version", describe(ev))
		}

		b.label("out", "also", "true") // matches from now on
		s.live(state.Created, "out", 3)
		b.label("in", "app", "") // matches neither query
		b.labelled("new", map[string]string{"app": "z"})
		b.labelled("newer", map[string]string{"app": "x"})
		s.live(state.Created, "newer", 1)
		b.ok(b.Destroy(b.ctx, ptr("in"))) // did not match
		b.ok(b.Destroy(b.ctx, ptr("out")))
		s.live(state.Destroyed, "out", 3)
	})},

	{"watch of ids", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		for _, id := range []string{"eth0", "lo", "eth1"} {
			b.create(id)
		}

		s := watch(state.WithBootstrapContents(), state.WithKindIDQuery(regexp.MustCompile("^eth")))
		s.want(state.Created, "eth0", 1)
		s.want(state.Created, "eth1", 1)
		s.marker(state.Bootstrapped)
		b.set("lo", "2")
		b.create("eth2")
		s.live(state.Created, "eth2", 1)
		b.ok(b.Destroy(b.ctx, ptr("lo")))
		b.ok(b.Destroy(b.ctx, ptr("eth0")))
		s.live(state.Destroyed, "eth0", 1)
	})},
}
