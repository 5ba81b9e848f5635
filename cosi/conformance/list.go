// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"regexp"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

func (b *bench) labelled(id string, labels map[string]string) {
	b.Helper()

	r := NewItem(ns, id, id)
	r.Metadata().SetLabels(resource.KeyValuesOf(labels))
	b.ok(b.Create(b.ctx, r))
}

func term(op resource.LabelOp, key string, values ...string) resource.LabelTerm {
	return resource.LabelTerm{Op: op, Key: key, Values: values}
}

var listTests = []test{
	{"list is sorted", func(b *bench) {
		for _, id := range []string{"b", "a", "c", "B", "aa", "é", "~", "a/b"} {
			b.create(id)
		}

		b.ok(b.Create(b.ctx, NewItem(ns+"-other", "x", "")))

		equal(b, "list", b.list(), "B a a/b aa b c ~ é")

		b.ok(b.Destroy(b.ctx, ptr("aa")))
		b.create("ab")
		b.set("c", "changed")

		items, err := b.List(b.ctx, kind())
		b.ok(err)

		equal(b, "list", b.list(), "B a a/b ab b c ~ é")

		equal(b, "spec", b.item(items[5]).TypedSpec().Value, "changed")
	}},

	{"a list belongs to the caller", func(b *bench) {
		b.create("a")
		b.create("b")

		for range 3 {
			items, err := b.List(b.ctx, kind())
			b.ok(err)

			if len(items) != 2 || items[0].Metadata().ID() != "a" {
				b.Fatalf("got %v, want a and b", items)
			}

			items[0], items[1] = items[1], nil
		}
	}},

	{"label queries", func(b *bench) {
		b.labelled("1", map[string]string{"app": "app1", "env": "dev", "mem": "1Ki", "n": "9"})
		b.labelled("2", map[string]string{"app": "app2", "env": "prod", "mem": "1000", "n": "10"})
		b.labelled("3", map[string]string{"app": "app3", "mem": "4 GB", "n": "100"})
		b.labelled("4", nil)

		not := resource.Not
		exists, is, in := resource.LabelExists, resource.LabelEqual, resource.LabelIn

		for _, tt := range []struct {
			name    string
			queries [][]resource.LabelTerm
			want    string
		}{
			{"no query", nil, "1 2 3 4"},
			{"no term", [][]resource.LabelTerm{{}}, "1 2 3 4"},
			{"exists", [][]resource.LabelTerm{{term(exists, "env")}}, "1 2"},
			{"not exists", [][]resource.LabelTerm{{not(term(exists, "env"))}}, "3 4"},
			{"equal", [][]resource.LabelTerm{{term(is, "app", "app1")}}, "1"},
			{"not equal, also missing", [][]resource.LabelTerm{{not(term(is, "env", "dev"))}}, "2 3 4"},
			{"in", [][]resource.LabelTerm{{term(in, "app", "app1", "app3", "x")}}, "1 3"},
			{"not in", [][]resource.LabelTerm{{not(term(in, "app", "app1", "app3"))}}, "2 4"},
			{"and", [][]resource.LabelTerm{{term(exists, "env"), term(is, "app", "app2")}}, "2"},
			{"or", [][]resource.LabelTerm{{term(is, "app", "app3")}, {term(is, "env", "dev")}}, "1 3"},
			{"less", [][]resource.LabelTerm{{term(resource.LabelLT, "app", "app2")}}, "1"},
			{"less or equal", [][]resource.LabelTerm{{term(resource.LabelLTE, "app", "app2")}}, "1 2"},
			{"not less, not missing", [][]resource.LabelTerm{{not(term(resource.LabelLT, "app", "app2"))}}, "2 3"},
			{"by bytes", [][]resource.LabelTerm{{term(resource.LabelLT, "n", "9")}}, "2 3"},
			{"by number", [][]resource.LabelTerm{{term(resource.LabelLTNumeric, "n", "10")}}, "1"},
			{"by number or equal", [][]resource.LabelTerm{{term(resource.LabelLTENumeric, "n", "10")}}, "1 2"},
			{"with units", [][]resource.LabelTerm{{term(resource.LabelLTNumeric, "mem", "1k")}}, ""},
			{"with units or equal", [][]resource.LabelTerm{{term(resource.LabelLTENumeric, "mem", "1k")}}, "2"},
			{"with binary units", [][]resource.LabelTerm{{term(resource.LabelLTENumeric, "mem", "1 KiB")}}, "1 2"},
			{"not a number", [][]resource.LabelTerm{{term(resource.LabelLTNumeric, "app", "10")}}, ""},
			{"not a number, inverted", [][]resource.LabelTerm{{not(term(resource.LabelLTNumeric, "app", "10"))}}, ""},
		} {
			var opts []state.ListOption
			for _, q := range tt.queries {
				opts = append(opts, state.WithLabelQuery(q...))
			}

			// Twice, because a state may answer from a cache.
			for range 2 {
				equal(b, tt.name, b.list(opts...), tt.want)
			}
		}
	}},

	{"changed labels", func(b *bench) {
		b.labelled("1", map[string]string{"k": "a"})
		b.labelled("2", map[string]string{"k": "b"})

		is := func(v string) state.ListOption { return state.WithLabelQuery(resource.LabelIs("k", v)) }

		equal(b, "list", b.list(is("a")), "1")

		b.label("2", "k", "a")

		equal(b, "list", b.list(is("a"))+"|"+b.list(is("b")), "1 2|")

		b.ok(b.Destroy(b.ctx, ptr("1")))
		b.labelled("0", map[string]string{"k": "a"})

		equal(b, "list", b.list(is("a")), "0 2")
	}},

	{"id query", func(b *bench) {
		for _, id := range []string{"eth0", "eth1", "bond0", "lo"} {
			b.create(id)
		}

		for expr, want := range map[string]string{"^eth": "eth0 eth1", "0": "bond0 eth0", "": "bond0 eth0 eth1 lo", "^$": ""} {
			equal(b, expr, b.list(state.WithIDQuery(regexp.MustCompile(expr))), want)
		}
	}},
}

var waitTests = []test{
	{"watch for", func(b *bench) {
		for _, tt := range []struct {
			name       string
			conditions []state.Condition
			then       func()
		}{
			{"created", []state.Condition{state.EventTypeIs(state.Created)}, func() { b.create("a") }},
			{"no finalizers", []state.Condition{state.FinalizersEmpty()}, func() {}},
			{"phase", []state.Condition{state.PhaseIs(resource.PhaseTearingDown)}, func() { b.teardown("a") }},
			{"both", []state.Condition{state.PhaseIs(resource.PhaseTearingDown), state.ResourceIs(func(r resource.Resource) bool {
				return r.Metadata().HasFinalizer("f")
			})}, func() { b.ok(b.AddFinalizer(b.ctx, ptr("a"), "f")) }},
			{"no finalizers again", []state.Condition{state.FinalizersEmpty()}, func() { b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "f")) }},
			{"destroyed", []state.Condition{state.EventTypeIs(state.Destroyed)}, func() { b.ok(b.Destroy(b.ctx, ptr("a"))) }},
		} {
			type result struct {
				r   resource.Resource
				err error
			}

			done := make(chan result, 1)

			go func() {
				r, err := b.WatchFor(b.ctx, ptr("a"), tt.conditions...)
				done <- result{r, err}
			}()

			tt.then()

			select {
			case got := <-done:
				if got.err != nil || got.r.Metadata().ID() != "a" {
					b.Errorf("%s: got %v, %v", tt.name, got.r, got.err)
				}
			case <-time.After(patience):
				b.Fatalf("%s: timed out", tt.name)
			}
		}
	}},

	{"watch for ends with its context", func(b *bench) {
		ctx, cancel := context.WithTimeout(b.ctx, 10*time.Millisecond)
		defer cancel()

		if _, err := b.WatchFor(ctx, ptr("a"), state.EventTypeIs(state.Created)); err == nil {
			b.Error("got no error")
		}
	}},
}
