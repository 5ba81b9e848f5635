// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func raw(texts ...string) (all [][]byte) {
	for _, t := range texts {
		all = append(all, []byte(t))
	}

	return all
}

// decode returns the members of messages as ID=DATA(ENDPOINTS), and -ID for a removed one.
func decode(t testing.TB, messages []extension.Raw) (all []string, last extension.Response) {
	t.Helper()

	for _, m := range messages {
		r, err := extension.DecodeResponse(m)
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range r.Members {
			if r.Deleted {
				all = append(all, "-"+m.ID)

				continue
			}

			text := m.ID + "=" + string(m.Data)
			for _, e := range m.Endpoints {
				text += "(" + string(e) + ")"
			}

			all = append(all, text)
		}

		last = r
	}

	return all, last
}

func TestLog(t *testing.T) {
	type step struct {
		after   time.Duration
		do      func(c *Cluster, now time.Time) (bool, error)
		changed bool
		err     error
		// want are the changes since the step before.
		want []string
	}

	update := func(id, data string, ttl time.Duration, endpoints ...string) func(*Cluster, time.Time) (bool, error) {
		return func(c *Cluster, now time.Time) (bool, error) {
			return c.Update(now, id, []byte(data), raw(endpoints...), ttl)
		}
	}

	remove := func(id string) func(*Cluster, time.Time) (bool, error) {
		return func(c *Cluster, now time.Time) (bool, error) { return c.Delete(now, id), nil }
	}

	expire := func(c *Cluster, now time.Time) (bool, error) { return c.Expire(now), nil }

	for name, steps := range map[string][]step{
		"an identical refresh only moves the expiry": {
			{0, update("a", "1", time.Minute, "x"), true, nil, []string{"a=1(x)"}},
			{30 * time.Second, update("a", "1", time.Minute, "x"), false, nil, nil},
			{80 * time.Second, expire, false, nil, nil},
			{90 * time.Second, expire, true, nil, []string{"-a"}},
		},
		"an endpoint that expires leaves the member": {
			{0, update("a", "1", time.Minute, "x"), true, nil, []string{"a=1(x)"}},
			{30 * time.Second, update("a", "1", time.Minute, "y"), true, nil, []string{"a=1(x)(y)"}},
			{60 * time.Second, expire, true, nil, []string{"a=1(y)"}},
		},
		"endpoints of a member that is not known yet": {
			{0, update("a", "", time.Minute, "x"), true, nil, []string{"a=(x)"}},
			{1, update("a", "1", time.Minute), true, nil, []string{"a=1(x)"}},
		},
		"data shortens the life, endpoints alone do not": {
			{0, update("a", "1", time.Minute), true, nil, []string{"a=1"}},
			{0, update("a", "1", 10*time.Second), false, nil, nil},
			{0, update("a", "", 5*time.Second, "x"), true, nil, []string{"a=1(x)"}},
			{9 * time.Second, expire, true, nil, []string{"a=1"}},
			{10 * time.Second, expire, true, nil, []string{"-a"}},
		},
		"a removed member returns": {
			{0, update("a", "1", time.Minute), true, nil, []string{"a=1"}},
			{0, remove("a"), true, nil, []string{"-a"}},
			{0, remove("a"), false, nil, nil},
			{0, remove("b"), false, nil, nil},
			{0, update("a", "1", time.Minute), true, nil, []string{"a=1"}},
		},
		"no time to live at all": {
			{0, update("a", "1", -time.Second), true, nil, []string{"a=1"}},
			{0, expire, true, nil, []string{"-a"}},
		},
		"too many": {
			{0, update("a", "1", time.Minute, "1", "2", "3", "4"), true, ErrEndpoints, []string{"a=1(1)(2)(3)"}},
			{0, update("b", "1", time.Minute), true, nil, []string{"b=1"}},
			{0, update("c", "1", time.Minute), true, nil, []string{"c=1"}},
			{0, update("d", "1", time.Minute), false, ErrAffiliates, nil},
			{0, update("a", "2", time.Minute), true, nil, []string{"a=2(1)(2)(3)"}},
			{0, remove("b"), true, nil, []string{"-b"}},
			{0, update("d", "1", time.Minute), true, nil, []string{"d=1"}},
		},
		"an event finds what has expired before it": {
			{0, update("a", "1", time.Second), true, nil, []string{"a=1"}},
			{time.Minute, update("b", "1", time.Second), true, nil, []string{"b=1", "-a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Limits{Affiliates: 3, Endpoints: 3}, 0)

			for i, s := range steps {
				before := c.Sequence()

				changed, err := s.do(c, at(s.after))
				if changed != s.changed || !errors.Is(err, s.err) {
					t.Errorf("step %d: changed %t, %v, want %t, %v", i, changed, err, s.changed, s.err)
				}

				got, last := decode(t, c.Since(at(s.after), before).Messages)
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("step %d: changes (-want +got):\n%s", i, diff)
				}

				if len(got) > 0 && last.Sequence != c.Sequence() {
					t.Errorf("step %d: the messages end at %d, want %d", i, last.Sequence, c.Sequence())
				}
			}
		})
	}
}

// TestSlowWatcher checks that a cursor from long ago receives each member once, as it is.
func TestSlowWatcher(t *testing.T) {
	c := New(OpenLimits, 0)

	for i := range 1000 {
		for _, id := range []string{"a", "b", "c"} {
			if _, err := c.Update(start, id, fmt.Append(nil, i), nil, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}

	c.Delete(start, "b")

	got, _ := decode(t, c.Since(start, 3).Messages)
	if diff := cmp.Diff([]string{"a=999", "c=999", "-b"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}

	// An old removal is forgotten, and a cursor from before it is too old.
	reached := c.Sequence()

	c.Forget(at(9 * time.Minute))

	if !c.Reaches(3) {
		t.Error("a removal was forgotten after 9 minutes")
	}

	c.Forget(at(10 * time.Minute))

	if c.Reaches(3) || !c.Reaches(reached) {
		t.Errorf("reaches 3: %t, %d: %t, want only the latter", c.Reaches(3), reached, c.Reaches(reached))
	}
}

// follower is a watcher that keeps what it was sent.
type follower struct {
	cursor  uint64
	members map[string]string
}

func (f *follower) take(t testing.TB, c *Cluster, now time.Time) {
	t.Helper()

	if !c.Reaches(f.cursor) {
		b := c.Snapshot(now)
		f.members, f.cursor = map[string]string{}, b.Sequence
		f.put(t, b)
	}

	b := c.Since(now, f.cursor)
	f.put(t, b)
	f.cursor = b.Sequence
}

func (f *follower) put(t testing.TB, b Batch) {
	all, _ := decode(t, b.Messages)
	for _, text := range all {
		if id, gone := strings.CutPrefix(text, "-"); gone {
			delete(f.members, id)

			continue
		}

		id, _, _ := strings.Cut(text, "=")
		f.members[id] = text
	}
}

// TestFollowers lets watchers of all speeds follow random events, and compares them with the members.
func TestFollowers(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := New(Limits{Affiliates: 40, Endpoints: 4}, 0)
		now := start

		followers := make([]*follower, 5)
		for i := range followers {
			followers[i] = &follower{members: map[string]string{}}
		}

		for range 2000 {
			now = now.Add(time.Duration(random.IntN(3000)) * time.Millisecond)
			id := fmt.Sprint("m", random.IntN(60))

			switch random.IntN(10) {
			case 0:
				c.Delete(now, id)
			case 1:
				c.Forget(now)
			case 2:
				c.Update(now, id, nil, raw(fmt.Sprint(random.IntN(6))), time.Minute)
			default:
				c.Update(now, id, fmt.Append(nil, random.IntN(3)), raw(fmt.Sprint(random.IntN(6))), time.Duration(random.IntN(90))*time.Second)
			}

			for i, f := range followers {
				if random.IntN(1<<(3*i)) == 0 {
					f.take(t, c, now)
				}
			}
		}

		all := c.All(now)
		want := map[string]string{}
		d := extension.Digest{Buckets: make([]uint32, 16)}

		var sum uint64

		for _, m := range all {
			text := m.ID + "=" + string(m.Data)

			var endpoints []string
			for _, e := range m.Endpoints {
				text += "(" + e.Data + ")"
				endpoints = append(endpoints, e.Data)
			}

			want[m.ID] = text
			sum += extension.Hash(m.ID, m.Data, endpoints)

			if m.TTL <= 0 {
				t.Errorf("seed %d: %s is listed %s after it has expired", seed, m.ID, -m.TTL)
			}

			d.Add(extension.Slot(m.ID), extension.Hash(m.ID, m.Data, endpoints))
		}

		for i, f := range followers {
			f.take(t, c, now)

			if diff := cmp.Diff(want, f.members); diff != "" {
				t.Fatalf("seed %d: watcher %d (-want +got):\n%s", seed, i, diff)
			}
		}

		if members, _ := c.Members(); members != len(all) || c.Sum() != sum {
			t.Errorf("seed %d: %d members with sum %x, want %d with %x", seed, members, c.Sum(), len(all), sum)
		}

		if b := c.Difference(now, d); len(b.Messages) != 1 {
			t.Errorf("seed %d: the difference to itself has %d messages", seed, len(b.Messages))
		} else if got, last := decode(t, b.Messages); len(got) != 0 || len(last.Covered) != 0 {
			t.Errorf("seed %d: the difference to itself is %v in %v", seed, got, last.Covered)
		}
	}
}

// TestDifference checks that a watcher that misses one member is sent its bucket, and one that has too many is told so.
func TestDifference(t *testing.T) {
	c := New(ProvedLimits, 0)
	d := extension.Digest{Buckets: make([]uint32, extension.BucketsFor(1000))}

	for i := range 1000 {
		id := fmt.Sprint("m", i)
		c.Update(start, id, []byte("x"), nil, time.Minute)

		if i != 17 {
			d.Add(extension.Slot(id), extension.Hash[string](id, []byte("x"), nil))
		}
	}

	d.Add(extension.Slot("gone"), extension.Hash[string]("gone", []byte("x"), nil))

	got, last := decode(t, c.Difference(start, d).Messages)
	if !slices.Contains(got, "m17=x") || len(got) > 20 {
		t.Errorf("%d members are sent, %v, want those of two buckets with m17", len(got), got)
	}

	want := []uint32{extension.Bucket(extension.Slot("m17"), len(d.Buckets)), extension.Bucket(extension.Slot("gone"), len(d.Buckets))}
	slices.Sort(want)

	if diff := cmp.Diff(slices.Compact(want), last.Covered); diff != "" || last.Buckets != len(d.Buckets) || !last.End {
		t.Errorf("covered of %d, end %t (-want +got):\n%s", last.Buckets, last.End, diff)
	}
}

// TestSnapshotChunks checks that a snapshot of a large cluster comes in messages of a limited size, which together have every member.
func TestSnapshotChunks(t *testing.T) {
	c := New(ProvedLimits, 0)
	data := strings.Repeat("x", 2048)

	for i := range 5000 {
		if _, err := c.Update(start, fmt.Sprint("m", i), []byte(data), nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := c.Update(start, "one more", []byte(data), nil, time.Minute); !errors.Is(err, ErrAffiliates) {
		t.Errorf("the 5,001st member: %v", err)
	}

	b := c.Snapshot(start)

	whole := c.Whole(start, 1<<30)
	if len(whole.Messages) != 1 || !bytes.Equal(whole.Messages[0], slices.Concat(b.Messages...)) || whole.Sequence != b.Sequence {
		t.Errorf("as one message: got %d messages up to %d, want one of the same bytes, up to %d", len(whole.Messages), whole.Sequence, b.Sequence)
	}

	if again := c.Whole(start, 1<<30); &again.Messages[0][0] != &whole.Messages[0][0] {
		t.Error("as one message again: it was made again")
	}

	if large := c.Whole(start, 1<<10); len(large.Messages) != len(b.Messages) {
		t.Errorf("larger than the limit: got %d messages, want %d", len(large.Messages), len(b.Messages))
	}
	for i, m := range b.Messages {
		if len(m) > maxMessage+32 {
			t.Errorf("message %d has %d bytes", i, len(m))
		}
	}

	if got, last := decode(t, b.Messages); len(got) != 5000 || !last.End || last.Sequence != c.Sequence() {
		t.Errorf("%d members, %+v", len(got), last.Trailer)
	}
}

func TestRestore(t *testing.T) {
	c := New(OpenLimits, 0)
	c.Update(start, "a", []byte("1"), raw("x"), time.Minute)
	c.Update(at(30*time.Second), "a", []byte("1"), raw("y"), time.Minute)
	c.Update(start, "b", []byte("1"), nil, 40*time.Second)

	saved := c.All(at(35 * time.Second))
	restored := New(OpenLimits, 0)

	for _, m := range append(saved, Member{ID: "expired", Data: []byte("1"), TTL: -time.Second}) {
		if err := restored.Restore(at(time.Hour), m); err != nil {
			t.Fatal(err)
		}
	}

	if diff := cmp.Diff(saved, restored.All(at(time.Hour))); diff != "" {
		t.Errorf("restored (-saved +got):\n%s", diff)
	}

	if restored.Sum() != c.Sum() {
		t.Error("the restored members have another digest")
	}

	got, _ := decode(t, restored.Snapshot(at(time.Hour+30*time.Second)).Messages)
	if diff := cmp.Diff([]string{"a=1(y)"}, got); diff != "" {
		t.Errorf("after half a minute (-want +got):\n%s", diff)
	}
}
