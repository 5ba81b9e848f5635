// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestHistory(t *testing.T) {
	start := time.Unix(0, 0)
	keys := func(names ...string) map[string]bool {
		out := map[string]bool{}
		for _, n := range names {
			out[n] = true
		}

		return out
	}

	for _, tt := range []struct {
		name string
		do   func(*History)
		end  map[string]bool
		want []string
	}{
		{"all is well", func(h *History) {
			h.Wrote("a", nil, start)
			h.Wrote("b", errors.New("no answer"), start)
			h.Read("a", "c1", true)
			h.Cluster("c1", "one")
			h.Cluster("c2", "one")
			h.Members(map[string]string{"1": "c1", "2": "c2"})
		}, keys("a"), nil},
		{"an unanswered write may be there", func(h *History) { h.Wrote("b", errors.New("no answer"), start) }, keys("b"), nil},
		{"a write is lost", func(h *History) { h.Wrote("a", nil, start) }, keys(), []string{"a, acknowledged at"}},
		{"a write was never made", func(*History) {}, keys("a"), []string{"a was never written"}},
		{"a stale read", func(h *History) {
			h.Wrote("a", nil, start)
			h.Read("a", "c2", false)
		}, keys("a"), []string{"c2 does not have a"}},
		{"a read of an unanswered write", func(h *History) {
			h.Wrote("a", errors.New("no answer"), start)
			h.Read("a", "c2", false)
		}, keys("a"), nil},
		{"two clusters", func(h *History) {
			h.Cluster("c1", "one")
			h.Cluster("c2", "two")
		}, keys(), []string{"c2 belongs to the cluster two, and c1 to the cluster one"}},
		{"a member is taken away", func(h *History) {
			h.Members(map[string]string{"1": "c1", "2": "c2"})
			h.Members(map[string]string{"1": "c1"})
			h.Members(map[string]string{"1": "c1"})
		}, keys(), []string{"member 2 of c2 has left etcd"}},
		{"a wiped machine has a new member", func(h *History) {
			h.Members(map[string]string{"1": "c1", "2": "c2"})
			h.Wiped("c2")
			h.Members(map[string]string{"1": "c1"})
			h.Members(map[string]string{"1": "c1", "3": ""})
			h.Members(map[string]string{"1": "c1", "3": "c2"})
		}, keys(), nil},
		{"a wiped machine loses two members", func(h *History) {
			h.Members(map[string]string{"1": "c1", "2": "c2"})
			h.Wiped("c2")
			h.Members(map[string]string{"1": "c1", "3": "c2"})
			h.Members(map[string]string{"1": "c1"})
		}, keys(), []string{"member 3 of c2 has left etcd"}},
		{"a wipe does not excuse what happens when all is whole again", func(h *History) {
			h.Members(map[string]string{"1": "c1", "2": "c2"})
			h.Wiped("c2")
			h.Whole(map[string]string{"1": "c1", "2": "c2"}) // the disks were emptied before there was a member
			h.Members(map[string]string{"1": "c1"})
		}, keys(), []string{"member 2 of c2 has left etcd"}},
		{"a member that was replaced, when all is whole again", func(h *History) {
			h.Members(map[string]string{"1": "c1", "2": "c2"})
			h.Wiped("c2")
			h.Whole(map[string]string{"1": "c1", "3": "c2"})
			h.Members(map[string]string{"1": "c1", "3": "c2"})
		}, keys(), nil},
		{"a member is back", func(h *History) {
			h.Members(map[string]string{"2": "c2"})
			h.Wiped("c2")
			h.Members(map[string]string{})
			h.Members(map[string]string{"2": "c2"})
		}, keys(), []string{"member 2 of c2 is back"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := NewHistory()
			tt.do(h)

			got := h.Check(tt.end)
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}

			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}
