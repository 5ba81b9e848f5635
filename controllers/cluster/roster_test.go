// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/cluster"
)

// said returns affiliates from texts ID:REVISION.
func said(texts ...string) map[string]cluster.AffiliateSpec {
	out := map[string]cluster.AffiliateSpec{}

	for _, text := range texts {
		var revision uint64

		id, number, _ := strings.Cut(text, ":")
		fmt.Sscan(number, &revision)

		out[id] = cluster.AffiliateSpec{NodeID: id, Revision: revision}
	}

	return out
}

func known(r *roster) string {
	var out []string

	for id, a := range r.newest() {
		out = append(out, fmt.Sprintf("%s:%d", id, a.Revision))
	}

	slices.Sort(out)

	return strings.Join(out, " ")
}

// pass lets time go by. Another source, if it is asked, has these machines.
func pass(r *roster, now time.Time, wait time.Duration, others map[string]cluster.AffiliateSpec) time.Time {
	for end := now.Add(wait); ; {
		again := r.settle(now)

		switch {
		case r.asks(now):
			r.answer(others, now)
		case again.IsZero() || again.After(end):
			return end
		default:
			now = again
		}
	}
}

// TestRoster: each step is what a source says, and what is known after it. A step without a source is time that goes by.
func TestRoster(t *testing.T) {
	type step struct {
		heard
		wait time.Duration
		want string
	}

	whole := func(source string, texts ...string) heard { return heard{source, true, false, said(texts...)} }
	young := func(source string, texts ...string) heard { return heard{source, true, true, said(texts...)} }
	part := func(source string, texts ...string) heard { return heard{source, false, false, said(texts...)} }

	for name, test := range map[string]struct {
		kept  []string
		steps []step
	}{
		"a join and a change":        {nil, []step{{whole("a", "x:1"), 0, "x:1"}, {whole("a", "x:1", "y:1"), 0, "x:1 y:1"}, {whole("a", "x:2", "y:1"), 0, "x:2 y:1"}}},
		"a source forgets a machine": {nil, []step{{whole("a", "x:1", "y:1"), 0, "x:1 y:1"}, {whole("a", "x:1"), farewells, "x:1"}}},
		"a source forgets a machine that was kept": {[]string{"x:1"}, []step{
			{whole("a", "x:1"), 0, "x:1"}, {whole("a"), farewells, ""},
		}},
		"no source answers":           {[]string{"x:1"}, []step{{wait: 24 * time.Hour, want: "x:1"}}},
		"a kept machine that is gone": {[]string{"x:1"}, []step{{whole("a", "y:1"), 0, "x:1 y:1"}, {wait: late, want: "y:1"}}},
		"a source that has just started": {[]string{"x:1"}, []step{
			{young("a", "y:1"), 0, "x:1 y:1"}, {wait: 20 * time.Minute, want: "x:1 y:1"}, {whole("a", "y:1"), 0, "y:1"},
		}},
		"only a part arrived": {[]string{"x:1"}, []step{{part("a", "y:1"), time.Hour, "x:1 y:1"}}},
		"a connection breaks, and a machine is late": {nil, []step{
			{whole("a", "x:1", "y:1"), 0, "x:1 y:1"}, {part("a"), 0, "x:1 y:1"}, {whole("a", "y:1"), 0, "x:1 y:1"}, {whole("a", "x:2", "y:1"), 0, "x:2 y:1"},
		}},
		"a connection breaks, and a machine is gone": {nil, []step{
			{whole("a", "x:1", "y:1"), 0, "x:1 y:1"}, {part("a"), 0, "x:1 y:1"}, {whole("a", "y:1"), late, "y:1"},
		}},
		"another source has old data":   {nil, []step{{whole("a", "x:5"), 0, "x:5"}, {whole("b", "x:3"), time.Hour, "x:5"}}},
		"another source has newer data": {nil, []step{{whole("a", "x:5"), 0, "x:5"}, {whole("b", "x:7"), 0, "x:7"}, {whole("a", "x:5"), 0, "x:7"}}},
		"another source is empty":       {nil, []step{{whole("a", "x:5"), 0, "x:5"}, {whole("b"), time.Minute, "x:5"}, {whole("a", "x:5"), time.Hour, "x:5"}}},
		"machines that do not count":    {nil, []step{{whole("a", "x:0"), 0, "x:0"}, {whole("b", "x:0"), 0, "x:0"}, {whole("b"), farewells, ""}}},
		"an old machine that was forgotten does not come back": {nil, []step{
			{whole("a", "x:5"), 0, "x:5"}, {whole("b", "x:3"), 0, "x:5"}, {whole("b"), late, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var r roster

			now := time.Unix(1e9, 0)
			r.restore(slices.Collect(maps.Values(said(test.kept...))))

			for i, s := range test.steps {
				if s.source != "" {
					r.hear(s.heard, now)
				}

				now = pass(&r, now, s.wait, nil)

				if got := known(&r); got != s.want {
					t.Errorf("step %d: got %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

// TestDoubt: what the watched source a lacks is forgotten if another source lacks it, too.
func TestDoubt(t *testing.T) {
	type step struct {
		a      string // what it has; "-" if it does not answer
		others string
		wait   time.Duration
		want   string
	}

	for name, test := range map[string]struct {
		share float64
		steps []step
	}{
		"both sources forget it, one a little later": {0, []step{{"x:1 y:1", "", 0, "x:1 y:1"}, {"y:1", "x:1 y:1", farewells - 1, "x:1 y:1"}, {"y:1", "y:1", 1, "y:1"}}},
		"the other has it":                           {0, []step{{"x:1", "", 0, "x:1"}, {"", "x:1", 24 * time.Hour, "x:1"}}},
		"the other has it for a while":               {0, []step{{"x:1", "", 0, "x:1"}, {"", "x:1", time.Minute, "x:1"}, {"", "", time.Minute, ""}}},
		"the other has something newer":              {0, []step{{"x:1", "", 0, "x:1"}, {"", "x:2", time.Minute, "x:2"}, {"x:1", "", time.Minute, "x:2"}}},
		"the other has something old":                {0, []step{{"x:3", "", 0, "x:3"}, {"", "x:2", time.Minute, ""}}},
		"the other has a machine that is not known":  {0, []step{{"x:1", "", 0, "x:1"}, {"", "x:1 z:1", time.Minute, "x:1"}}},
		"it comes back":                              {0, []step{{"x:1", "", 0, "x:1"}, {"", "", time.Second, "x:1"}, {"x:1", "", time.Hour, "x:1"}}},
		"the source is lost meanwhile":               {0, []step{{"x:1", "", 0, "x:1"}, {"", "", time.Second, "x:1"}, {"-", "", time.Hour, "x:1"}, {"", "x:1", time.Hour, "x:1"}, {"", "", time.Hour, ""}}},
		"a large cluster asks slowly": {0.5, []step{{"v:1 w:1 x:1 y:1", "", 0, "v:1 w:1 x:1 y:1"}, {"w:1 x:1 y:1", "", farewells, "v:1 w:1 x:1 y:1"},
			{"w:1 x:1 y:1", "", 3 * perMachine, "w:1 x:1 y:1"}}},
		"one answer is for all": {0, []step{{"v:1 x:1 y:1", "", 0, "v:1 x:1 y:1"}, {"v:1 x:1", "v:1 y:1", farewells - 1, "v:1 x:1 y:1"},
			{"", "v:1", farewells, "v:1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := roster{share: test.share}
			now := time.Unix(1e9, 0)

			for i, s := range test.steps {
				if s.a == "-" {
					r.interrupt()
				} else {
					r.hear(heard{"a", true, false, said(strings.Fields(s.a)...)}, now)
				}

				now = pass(&r, now, s.wait, said(strings.Fields(s.others)...))

				if got := known(&r); got != s.want {
					t.Errorf("step %d: got %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

// TestUnanswered: while no other source answers, nothing is forgotten, and the question is asked again.
func TestUnanswered(t *testing.T) {
	var r roster

	now := time.Unix(1e9, 0)
	r.hear(heard{"a", true, false, said("x:1")}, now)
	r.hear(heard{"a", true, false, said()}, now)

	for range 3 {
		if now = r.settle(now); !r.asks(now) {
			t.Fatal("nothing is asked")
		}

		r.unanswered(now)

		if got := known(&r); got != "x:1" || r.asks(now) {
			t.Errorf("got %q, want x:1", got)
		}
	}
}

// TestRosterRaw: a machine has a raw affiliate for each of the two statements about it that differ.
func TestRosterRaw(t *testing.T) {
	var r roster

	r.restore(slices.Collect(maps.Values(said("x:5", "y:1", "z:1"))))
	r.hear(heard{"a", true, false, said("x:3", "y:1")}, time.Unix(1e9, 0))
	r.settle(time.Unix(1e9, 0))

	got := slices.Sorted(maps.Keys(r.raw()))
	if diff := cmp.Diff([]string{"kept/x", "kept/z", "service/x", "service/y"}, got); diff != "" {
		t.Errorf("raw affiliates (-want +got):\n%s", diff)
	}
}

func TestChoice(t *testing.T) {
	type step struct {
		at    int // seconds
		works string
		want  string
		again int
	}

	const all = "abc" // in the order of preference

	for name, steps := range map[string][]step{
		"the first one that works":             {{0, "", "", 0}, {1, "b", "b", 0}},
		"the best one that works":              {{0, "bc", "b", 0}},
		"a better one comes back and stays":    {{0, "b", "b", 0}, {10, "ab", "b", 40}, {39, "ab", "b", 40}, {40, "ab", "a", 0}},
		"a better one comes and goes":          {{0, "b", "b", 0}, {10, "ab", "b", 40}, {20, "b", "b", 0}, {40, "ab", "b", 70}},
		"a short failure":                      {{0, "a", "a", 0}, {10, "b", "a", 13}, {12, "ab", "a", 0}, {20, "b", "a", 23}},
		"a long failure":                       {{0, "a", "a", 0}, {10, "bc", "a", 13}, {13, "bc", "b", 0}},
		"all fail, and another one comes back": {{0, "a", "a", 0}, {10, "", "a", 13}, {60, "", "a", 0}, {70, "c", "c", 0}},
		"all fail, and the same comes back":    {{0, "a", "a", 0}, {10, "", "a", 13}, {60, "", "a", 0}, {70, "a", "a", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var c choice

			start := time.Unix(1e9, 0)

			for i, s := range steps {
				var candidates []candidate
				for _, name := range all {
					candidates = append(candidates, candidate{string(name), strings.ContainsRune(s.works, name)})
				}

				var again time.Time

				c, again = c.next(candidates, start.Add(time.Duration(s.at)*time.Second))

				after := 0
				if !again.IsZero() {
					after = int(again.Sub(start).Seconds())
				}

				if c.name != s.want || after != s.again {
					t.Errorf("step %d: got %q, again at %d s; want %q, %d", i, c.name, after, s.want, s.again)
				}
			}
		})
	}
}

// TestChoiceOfRemovedSource: a source that is no longer configured is not watched.
func TestChoiceOfRemovedSource(t *testing.T) {
	c, _ := choice{name: "old"}.next([]candidate{{"a", false}, {"b", true}}, time.Unix(1e9, 0))
	if c.name != "b" {
		t.Errorf("got %q, want b", c.name)
	}

	if c, _ = (choice{name: "old"}).next([]candidate{{"a", false}}, time.Unix(1e9, 0)); c.name != "" {
		t.Errorf("none works: got %q, want none", c.name)
	}
}
