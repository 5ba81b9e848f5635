// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
)

// TestMembershipScripts runs the scripts of memberships. -rewrite rewrites the results; commit only what you understand. The commands are
//
//	start
//	look [data=MEMBER/CLUSTER] [asked] [restore] [discovers] [published] [rivals=(ID[+data],...)] [leave] [serves] [peers] [locked] [unconfirmed] [after=DURATION]
//	     a look of the machine cp-3 with the address 3; the lines are the members, none if no one answers:
//	     ID NAME URL [voter|learner] [up|down] [leader] [APPLIED]; NAME is - for one that has not started
func TestMembershipScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/membership", func(t *testing.T, path string) {
		var m membership

		now := time.Unix(1000, 0)

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "start" {
				m = membership{}

				return ""
			}

			if d.HasArg("after") {
				var text string

				d.ScanArgs(t, "after", &text)

				after, err := time.ParseDuration(text)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}

				now = now.Add(after)
			}

			var p plan

			m, p = m.next(scriptSight(t, d), now)

			return p.text()
		})
	})
}

func scriptSight(t *testing.T, d *datadriven.TestData) sight {
	t.Helper()

	s := sight{
		name: "cp-3", peerURLs: []string{"https://3:2380"}, asked: d.HasArg("asked"), leave: d.HasArg("leave"), serves: d.HasArg("serves"), locked: d.HasArg("locked"),
		silence: errors.New("no etcd answers"),
	}

	s.restore, s.claims = d.HasArg("restore"), claims{own: "cp-3", discovers: d.HasArg("discovers"), published: d.HasArg("published")}

	for _, arg := range d.CmdArgs {
		if arg.Key == "rivals" {
			for _, text := range arg.Vals {
				id, data := strings.CutSuffix(text, "+data")
				s.claims.rivals = append(s.claims.rivals, rival{id: id, name: id, data: data})
			}
		}
	}

	if d.HasArg("peers") {
		s.peers = []string{"https://1:2379"}
	}

	if d.HasArg("data") {
		var text string

		d.ScanArgs(t, "data", &text)

		if _, err := fmt.Sscanf(text, "%d/%d", &s.data.member, &s.data.cluster); err != nil {
			s.unreadable = errors.New("the log is damaged")
		}

		s.hasData = true
	}

	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)

		id, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}

		if s.cluster == nil {
			s.cluster = &quorum.Cluster{ID: 9, Confirmed: !d.HasArg("unconfirmed")}
		}

		s.cluster.Members = append(s.cluster.Members, quorum.Member{
			ID: id, PeerURLs: []string{"https://" + f[2] + ":2380"},
			Learner: strings.Contains(line, "learner"), Healthy: strings.Contains(line, "up"), Leader: strings.Contains(line, "leader"),
		})

		m := &s.cluster.Members[len(s.cluster.Members)-1]
		if f[1] != "-" {
			m.Name = f[1]
		}

		m.Applied, _ = strconv.ParseUint(f[len(f)-1], 10, 64) // without a number nothing is known
	}

	return s
}

func (p plan) text() string {
	var b strings.Builder

	fmt.Fprintf(&b, "%s: %s", p.intent, p.step)

	if p.lock {
		b.WriteString(", with the lock")
	}

	b.WriteString("\n")

	if p.waits != "" {
		fmt.Fprintf(&b, "waits for %s\n", p.waits)
	}

	if p.initialCluster != "" {
		fmt.Fprintf(&b, "members %s\n", p.initialCluster)
	}

	if p.err != nil {
		fmt.Fprintf(&b, "error: %v\n", p.err)
	}

	if p.action != nil {
		fmt.Fprintf(&b, "do %s%v\n", strings.TrimPrefix(fmt.Sprintf("%T", p.action), "etcd."), p.action)
	}

	return b.String()
}

// TestMembershipIsSafe: over all sights of a small world, a member is removed only if a quorum remains, this machine's own one only
// when its data is gone or it leaves, or without a vote when it does not catch up, data is set aside only when a quorum confirms that the cluster does not have its member, and the
// members change only under the lock.
func TestMembershipIsSafe(t *testing.T) {
	for bits := range 1 << 14 {
		bit := func(i int) bool { return bits>>i&1 != 0 }

		s := sight{
			name: "cp-3", peerURLs: []string{"https://3:2380"}, peers: []string{"https://1:2379"},
			hasData: bit(0), asked: bit(1), leave: bit(2), locked: bit(3),
			cluster: &quorum.Cluster{ID: 9, Confirmed: bit(4), Members: []quorum.Member{
				{ID: 1, Name: "cp-1", PeerURLs: []string{"https://1:2380"}, Healthy: bit(5), Leader: bit(5)},
				{ID: 2, Name: "cp-2", PeerURLs: []string{"https://2:2380"}, Healthy: bit(6), Learner: bit(7)},
			}},
		}

		if s.hasData {
			s.data = identity{3, 9}
		}

		if bit(8) {
			own := quorum.Member{ID: 3, PeerURLs: s.peerURLs, Learner: bit(9), Healthy: bit(10) && s.hasData}
			if bit(11) {
				own.Name = s.name
			}

			s.cluster.Members = append(s.cluster.Members, own)
		}

		now := time.Unix(1000, 0)
		m := membership{}

		if bit(12) { // everything has lasted long
			m = membership{stranger: 2, added: 3}
		}

		learner := uint64(0) // one that has come no closer for long
		if bit(13) {
			learner = 2 + uint64(bits>>12&1)
			m.catchup = catchup{member: learner}
		}

		_, p := m.next(s, now)
		_, listed := s.cluster.Find(3)

		if _, local := p.action.(dropRequest); p.action != nil && !local && (!p.lock || !s.locked || !s.cluster.Confirmed) {
			t.Errorf("%+v: %s without the lock or a quorum", s, p.text())
		}

		if p.step == "discarding" && (listed || !s.cluster.Confirmed || !s.hasData) {
			t.Errorf("%+v: %s of a member of the cluster", s, p.text())
		}

		if p.initialCluster != "" && (s.hasData || !s.locked || s.leave || s.asked) {
			t.Errorf("%+v: %s", s, p.text())
		}

		remove, ok := p.action.(removeMember)
		if !ok {
			continue
		}

		if err := quorum.Check(s.cluster.Members, quorum.Remove, remove.id); err != nil {
			t.Errorf("%+v: %s: %v", s, p.text(), err)
		}

		target, _ := s.cluster.Find(remove.id)
		stuck := target.Learner && remove.id == learner
		if own := remove.id == 3; own && s.hasData && !s.leave && !stuck || !own && (!target.Learner || target.Healthy && !stuck) {
			t.Errorf("%+v: %s of a member that is in use", s, p.text())
		}
	}
}

// TestOneBootstrap: of two machines that are asked at any moments, at most one starts a cluster, however late each learns of the other's
// claim.
func TestOneBootstrap(t *testing.T) {
	const tick = 500 * time.Millisecond

	for offset := range 8 {
		for delay := range 4 { // ticks after which a claim is seen by the other; a claim is published for claimTime
			for first := range 2 {
				var (
					states  [2]membership
					dropped [2]bool
					// history has, for each tick, what each machine claims.
					history [2][]int
				)

				const (
					nothing = iota
					asked
					data
				)

				names := [2]string{"cp-a", "cp-b"}
				started := 0

				for n := range 200 {
					for i := range 2 {
						claim := nothing
						if h := history[i]; len(h) > 0 {
							claim = h[len(h)-1]
						}

						begins := n >= offset
						if i == first {
							begins = true
						}

						if begins && claim == nothing && !dropped[i] {
							claim = asked
						}

						s := sight{name: names[i], claims: claims{own: names[i], discovers: true}}
						s.asked = claim == asked
						s.hasData = claim == data
						s.claims.published = len(history[i]) > 0 && history[i][len(history[i])-1] == asked

						if h := history[1-i]; len(h) > delay {
							switch h[len(h)-1-delay] {
							case asked:
								s.claims.rivals = []rival{{names[1-i], names[1-i], false}}
							case data:
								s.claims.rivals = []rival{{names[1-i], names[1-i], true}}
							}
						}

						if claim == asked {
							var p plan

							states[i], p = states[i].next(s, time.Unix(1000, 0).Add(time.Duration(n)*tick))

							switch {
							case p.action == dropRequest{}:
								claim, dropped[i] = nothing, true
							case p.step == "starting":
								claim = data
								started++
							}
						}

						history[i] = append(history[i], claim)
					}
				}

				if started != 1 {
					t.Errorf("asked %d ticks apart, %d first, seen after %d ticks: %d clusters", offset, first, delay, started)
				}
			}
		}
	}
}
