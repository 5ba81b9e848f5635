// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/clock"
)

func TestAgree(t *testing.T) {
	at := func(server string, offset, distance time.Duration) answer {
		return answer{Sample: Sample{Offset: offset, Distance: distance}, server: server}
	}

	for _, tt := range []struct {
		name         string
		answers      []answer
		best         string // "" if they disagree
		agree, wrong []string
	}{
		{"one", []answer{at("a", time.Hour, 0)}, "a", []string{"a"}, nil},
		{"two that agree", []answer{at("a", 0, time.Second), at("b", time.Second, 10*time.Millisecond)}, "b", []string{"a", "b"}, nil},
		{"two that do not", []answer{at("a", 0, 0), at("b", time.Hour, 0)}, "", nil, nil},
		{
			"a liar of three", []answer{at("liar", 24*time.Hour, 0), at("a", 0, time.Millisecond), at("b", 0, 2*time.Millisecond)},
			"a", []string{"a", "b"}, []string{"liar"},
		},
		{"two liars of three", []answer{at("x", time.Hour, 0), at("a", 0, 0), at("y", -time.Hour, 0)}, "", nil, nil},
		{"two of four", []answer{at("a", 0, 0), at("b", 0, 0), at("x", time.Hour, 0), at("y", time.Hour, 0)}, "", nil, nil},
		{
			"a chain without a common point", []answer{at("a", 0, time.Second), at("b", 2*time.Second, time.Second), at("c", 4*time.Second, time.Second)},
			"a", []string{"a", "b"}, []string{"c"},
		},
		{
			"one that is sure of nothing agrees with all", []answer{at("vague", time.Second, time.Minute), at("a", 0, 0), at("b", 0, 0)},
			"a", []string{"vague", "a", "b"}, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := agree(tt.answers)
			if (err != nil) != (tt.best == "") || err != nil && !errors.Is(err, errDisagree) {
				t.Fatalf("got error %v, want one: %t", err, tt.best == "")
			}

			if got.best.server != tt.best || !slices.Equal(got.agree, tt.agree) || !slices.Equal(got.wrong, tt.wrong) {
				t.Errorf("got best %q, agree %v, wrong %v, want %q, %v, %v", got.best.server, got.agree, got.wrong, tt.best, tt.agree, tt.wrong)
			}

			for range len(tt.answers) { // in any order
				tt.answers = append(tt.answers[1:], tt.answers[0])

				if again, err := agree(tt.answers); (err != nil) != (tt.best == "") || len(again.agree) != len(tt.agree) {
					t.Errorf("in another order: agree %v, %v, want %d", again.agree, err, len(tt.agree))
				}
			}
		})
	}
}

// servers replaces the time servers.
func servers(ctx context.Context, t *testing.T, st state.State, names ...string) {
	t.Helper()

	if err := typed.Set(ctx, st, "", network.TimeServerID, network.TimeServerStatusSpec{NTPServers: names}); err != nil {
		t.Fatal(err)
	}
}

// TestLies makes servers lie from the start and later.
func TestLies(t *testing.T) {
	const day = 24 * time.Hour

	for _, tt := range []struct {
		name    string
		servers []string
		first   map[string]time.Duration // lies from the start
		later   map[string]time.Duration
		synced  bool
		max     time.Duration // that the clock may be off at the end
	}{
		{"one of three, from the start", []string{"a", "b", "c"}, map[string]time.Duration{"a": day}, nil, true, 0},
		{"one of three, later", []string{"a", "b", "c"}, nil, map[string]time.Duration{"b": -day}, true, 0},
		{"one of two, from the start", []string{"a", "b"}, map[string]time.Duration{"a": day}, nil, false, 0},
		{"one of two, later", []string{"a", "b"}, nil, map[string]time.Duration{"b": -day}, true, 0},
		{"the only one, later", []string{"a"}, nil, map[string]time.Duration{"a": day}, true, 0},
		{"the only one, later, a little", []string{"a"}, nil, map[string]time.Duration{"a": time.Minute}, true, time.Minute},
		{"two of three", []string{"a", "b", "c"}, nil, map[string]time.Duration{"a": day, "b": day}, true, day},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{lies: tt.first, dead: map[string]bool{"a": true, "b": true}}
			run(t, w, func(ctx context.Context, st state.State) {
				servers(ctx, t, st, tt.servers...)
				w.kill(nil)
				time.Sleep(time.Minute)

				if got := status(ctx, t, st); got.Synced != tt.synced {
					t.Errorf("synced: got %t, want %t", got.Synced, tt.synced)
				}

				w.mu.Lock()
				w.lies = tt.later
				w.mu.Unlock()

				time.Sleep(day)

				w.mu.Lock()
				defer w.mu.Unlock()

				if got := w.offset.Abs(); got > tt.max {
					t.Errorf("the clock was moved by %s, want %s at most", got, tt.max)
				}
			})
		})
	}
}

// TestBeforeThisVersion: a server with a time before this version was built is ignored, and does not count for a majority.
func TestBeforeThisVersion(t *testing.T) {
	w := &world{earliest: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Hour), lies: map[string]time.Duration{"a": -48 * time.Hour}}
	run(t, w, func(ctx context.Context, st state.State) {
		if got := status(ctx, t, st); !got.Synced || len(w.stepped) > 0 {
			t.Errorf("got %+v, stepped %v, want the time of the other server", got, w.stepped)
		}

		servers(ctx, t, st, "a")
		time.Sleep(time.Hour)

		if len(w.stepped) > 0 {
			t.Errorf("stepped %v, want the clock as it was", w.stepped)
		}
	})
}

// TestKisses: a server that refuses queries is not queried.
func TestKisses(t *testing.T) {
	for code, want := range map[string]int{"RATE": int(2*time.Hour/maxPoll) + 1, "DENY": 1, "RSTR": 1, "XYZ": 1} {
		t.Run(code, func(t *testing.T) {
			w := &world{kisses: map[string]string{"a": code, "b": code}}
			run(t, w, func(ctx context.Context, st state.State) {
				servers(ctx, t, st, "a")
				w.questions()
				time.Sleep(2 * time.Hour)

				got := len(w.questions())
				if status(ctx, t, st).Synced || got > want {
					t.Errorf("asked %d times in two hours, want %d at most", got, want)
				}

				servers(ctx, t, st, "a", "c")

				if !status(ctx, t, st).Synced {
					t.Error("another server is not asked")
				}
			})
		})
	}
}

// TestLeap: a leap second is passed to the kernel on its day, and a minority cannot announce one.
func TestLeap(t *testing.T) {
	day := func(month time.Month, day int) time.Time { return time.Date(2000, month, day, 12, 0, 0, 0, time.UTC) }

	for _, tt := range []struct {
		name string
		now  time.Time
		want clock.Leap
	}{
		{"the day", day(time.June, 30), clock.LeapInsert},
		{"the other day", day(time.December, 31), clock.LeapInsert},
		{"the day before", day(time.June, 29), clock.LeapNone},
		{"the day after", day(time.July, 1), clock.LeapNone},
	} {
		if got := leapToday(tt.now, clock.LeapInsert); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}

	v, err := agree([]answer{{server: "a"}, {server: "b"}, {server: "c", Sample: Sample{Leap: clock.LeapDelete}}})
	if err != nil || v.leap != clock.LeapNone {
		t.Errorf("announced by one of three: got %v, %v", v.leap, err)
	}

	w := &world{leap: clock.LeapInsert}
	run(t, w, func(_ context.Context, _ state.State) {
		time.Sleep(time.Until(day(time.June, 30).Add(-12 * time.Hour)))

		w.mu.Lock()
		before := len(w.leaps)
		announced := slices.Contains(w.leaps, clock.LeapInsert)
		w.mu.Unlock()

		if announced {
			t.Error("the kernel got the leap second before the day")
		}

		time.Sleep(12 * time.Hour)

		w.mu.Lock()
		defer w.mu.Unlock()

		if !slices.Contains(w.leaps[before:], clock.LeapInsert) {
			t.Error("the kernel did not get the leap second on the day")
		}
	})
}
