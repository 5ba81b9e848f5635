// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The states of a member.
const (
	up = iota
	down
	learner
	joining // a learner that has not started
	states
)

// clusters calls fn with each combination of the states of 1 to 5 members.
func clusters(fn func(members []Member)) {
	for size := 1; size <= 5; size++ {
		total := 1
		for range size {
			total *= states
		}

		for code := range total {
			members := make([]Member, size)

			for i := range members {
				state := code % states
				code /= states
				members[i] = Member{
					ID: uint64(i + 1), Name: fmt.Sprintf("cp-%d", i+1), PeerURLs: []string{fmt.Sprintf("https://10.5.0.%d:2380", i+2)},
					Learner: state == learner || state == joining, Healthy: state == up || state == learner,
				}

				if state == joining {
					members[i].Name = ""
				}
			}

			fn(members)
		}
	}
}

// world is what etcd does: it answers while more than half of the voters are up.
type world struct{ voters, up int }

func worldOf(members []Member) (w world) {
	for _, m := range members {
		if !m.Learner {
			w.voters++

			if m.Healthy {
				w.up++
			}
		}
	}

	return w
}

func (w world) works() bool { return 2*w.up > w.voters }

// without returns the world after an action, and whether etcd can do it at all.
func (w world) without(t Member, a Action) (world, bool) {
	possible := w.works() || !a.forever()

	if t.Learner {
		return w, possible
	}

	if t.Healthy {
		w.up--
	}

	if a.forever() {
		w.voters--
	}

	return w, possible
}

// TestCheck compares the guard with what happens: each command on each member, in each state of 1 to 5 members. It allows nothing that
// takes a working cluster down, and refuses nothing else.
func TestCheck(t *testing.T) {
	checked, refused := 0, 0

	clusters(func(members []Member) {
		before := worldOf(members)
		if before.voters == 0 {
			return // there is no such etcd
		}

		for _, action := range Actions {
			for _, target := range members {
				after, possible := before.without(target, action)
				err := Check(members, action, target.ID)
				last := !target.Learner && before.voters == 1
				checked++

				var want error

				switch {
				case target.Learner:
				case action.forever() && last:
					want = ErrLast
				case action.forever() && !possible:
					want = ErrQuorum
				case last:
				case before.works() && !after.works():
					want = ErrQuorum
				case !before.works() && target.Healthy:
					want = ErrQuorum // it may be the one that a quorum needs
				}

				if !errors.Is(err, want) || want == nil && err != nil {
					t.Errorf("%s %d of %+v: got %v, want %v", action, target.ID, members, err, want)
				}

				if err == nil && before.works() && !after.works() && !(last && !action.forever()) {
					t.Errorf("%s %d of %+v takes a working cluster down", action, target.ID, members)
				}

				if err == nil {
					continue
				}

				refused++

				if flag := action.Anyway(); errors.Is(err, ErrQuorum) && flag != "" && !strings.HasSuffix(err.Error(), ", or "+flag) {
					t.Errorf("%s: %q does not name %s", action, err, flag)
				}
			}
		}
	})

	if checked < 30000 || refused < 5000 {
		t.Errorf("checked %d, of which %d were refused", checked, refused)
	}
}

// TestPromotion: a promotion never takes a working cluster down.
func TestPromotion(t *testing.T) {
	clusters(func(members []Member) {
		before := worldOf(members)
		after := world{before.voters + 1, before.up + 1}

		if err := CheckPromotion(members); (err == nil) != after.works() {
			t.Errorf("%+v: got %v, want allowed %t", members, err, after.works())
		}
	})
}

func TestTexts(t *testing.T) {
	cluster := func(states ...int) (members []Member) {
		for i, state := range states {
			members = append(members, Member{ID: uint64(i + 1), Name: fmt.Sprintf("cp-%d", i+1), Healthy: state == up, Learner: state == learner})
		}

		return members
	}

	for _, tt := range []struct {
		members []Member
		action  Action
		target  uint64
		want    string
	}{
		{cluster(up, down, up), Reboot, 3, "reboot cp-3: etcd would lose its quorum: of 3 voting members 1 would remain healthy (cp-1), 2 are needed; repair the others first (cp-2), or --force"},
		{cluster(up, up), Shutdown, 1, "shutdown cp-1: etcd would lose its quorum: of 2 voting members 1 would remain healthy (cp-2), 2 are needed; add a control plane first, or --force"},
		{cluster(up, down, up), Leave, 1, "leave cp-1: etcd would lose its quorum: of 3 voting members 1 would remain healthy (cp-3), 2 are needed; repair the others first (cp-2)"},
		{cluster(down, down, up), Remove, 1, "remove cp-1: etcd has lost its quorum: of 3 voting members 1 is healthy (cp-3), 2 are needed; start the others, or recover from a snapshot (talosctl bootstrap --recover-from FILE)"},
		{cluster(up), Leave, 1, "leave cp-1: it is the only member, and all data would be lost"},
		{cluster(up), Reset, 1, "reset cp-1: it is the only member, and all data would be lost; if that is what you want: --graceful=false"},
		{cluster(up, down), Reset, 1, "reset cp-1: etcd has lost its quorum: of 2 voting members 1 is healthy (cp-1), 2 are needed; start the others, or recover from a snapshot (talosctl bootstrap --recover-from FILE), or --graceful=false"},
		{cluster(up), Remove, 7, "remove 0000000000000007: etcd has no such member; see: talosctl etcd members"},
		{cluster(down, up, up), Remove, 1, ""},
		{cluster(up), Reboot, 1, ""},
		{cluster(up), Reboot, 7, ""},
	} {
		got := ""
		if err := Check(tt.members, tt.action, tt.target); err != nil {
			got = err.Error()
		}

		if got != tt.want {
			t.Errorf("%s %d\n got %q\nwant %q", tt.action, tt.target, got, tt.want)
		}
	}
}
