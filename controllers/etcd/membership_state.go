// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/resources/etcd"
)

// membership is the state machine of this machine's membership: what it sees and the time go in, the next state and a plan come out;
// testdata/membership has scripts of both.
//
// The plan follows from what is there, not from what was done before: the data on the disk, the list of the cluster's members, the
// lock. So a machine whose power was cut at any step goes on with that step.
//
//	           a cluster answers      locked                        added                  it has data                   caught up
//	waiting ───────────────────▶ locking ───▶ (removing) ─▶ adding ───────▶ starting ─────────────────▶ promoting ──────────────▶ member
//	   ▲                                  its own old member                                                                        │
//	   └────────────────────────────────────────────── discarding ◀── the cluster confirms that it was removed ─────────────────────┘
//
// The members change under a lock of the cluster, so at most one machine joins at a time. A learner has no vote, so adding one risks
// nothing; a promotion, or the removal of a member, needs the consent of package quorum.
type membership struct {
	// stranger is another machine's learner that prevents this one from joining, and since when.
	stranger      uint64
	strangerSince time.Time
	// catchup is that of the learner, this machine's or another's, for which others wait.
	catchup catchup
	// added is this machine's member that has not started, and since when.
	added      uint64
	addedSince time.Time
	// withdrawing is since when this machine waits for the end of its API server.
	withdrawing time.Time
	// ended is since when it has ended.
	ended time.Time
	// rest is when the next attempt to join may begin, and gaveUp why the last one ended.
	rest   time.Time
	gaveUp error
	// asking is the state of a request to start a cluster.
	asking asking
}

const (
	// startPatience is how long etcd may take to start as a new member. Then the member is removed, so that others can join.
	startPatience = 5 * time.Minute
	// strangerPatience is how long another machine's learner may be dead. Then it is removed: it has no vote, and its machine joins again
	// when it comes back.
	strangerPatience = 5 * time.Minute
	// withdrawPatience is how long the API server may take to end before the machine leaves nevertheless.
	withdrawPatience = time.Minute
	// drainTime is how long an API server that accepts no connection any more has for the requests that it has begun.
	drainTime = 2 * time.Second
	// restTime is the pause after an attempt to join that failed.
	restTime = 30 * time.Second
)

// sight is what the state machine sees. The data is looked at after the cluster: a member that has started has data.
type sight struct {
	name     string
	peerURLs []string
	// hasData: etcd has data on the disk. data is whose it is, unless it is unreadable.
	hasData    bool
	data       identity
	unreadable error
	// asked: this machine was asked to start a cluster, with a snapshot if restore is set.
	asked, restore bool
	claims         claims
	// leave: it was asked to leave its cluster.
	leave bool
	// serves: there is an API server on this machine, whose data is in etcd.
	serves bool
	// peers are the addresses of machines that may have a member.
	peers []string
	// cluster is nil when no member answers; silence says why.
	cluster *quorum.Cluster
	silence error
	// locked: this machine has the lock; obstacle is why it does not have it.
	locked   bool
	obstacle error
}

// plan is what to do.
type plan struct {
	intent etcd.Intent
	step   etcd.Step
	// waits is what must happen before the next step.
	waits string
	err   error
	// lock: the lock is taken, or kept.
	lock bool
	// action is done if the lock is held; nil for none.
	action any
	// initialCluster has the members with which etcd is started.
	initialCluster string
}

// The actions.
type (
	// addLearner adds this machine as a learner.
	addLearner struct{}
	// removeMember removes a member.
	removeMember struct{ id uint64 }
	// promoteMember gives a learner a vote.
	promoteMember struct{ id uint64 }
	// dropRequest forgets the request to start a cluster. It needs no lock.
	dropRequest struct{}
	// moveLeader has another member lead.
	moveLeader struct{ to uint64 }
)

// next returns the state after a look, and the plan.
func (m membership) next(s sight, now time.Time) (membership, plan) {
	switch {
	case s.leave:
		return m.leaving(s, now)
	case s.hasData:
		m = membership{catchup: m.catchup, rest: m.rest, gaveUp: m.gaveUp}

		return m, m.belonging(s, now)
	case s.asked:
		m = membership{asking: m.asking}

		return m, m.asking.beginning(s, now)
	default:
		m.asking = asking{}
		p := m.joining(s, now)

		return m, p
	}
}

// belonging is the plan of a machine with data.
func (m *membership) belonging(s sight, now time.Time) plan {
	switch {
	case s.unreadable != nil:
		return plan{intent: etcd.IntentNone, step: etcd.StepChecking, waits: "an operator", err: s.unreadable}
	case s.cluster == nil:
		return plan{intent: etcd.IntentNone, step: etcd.StepMember, waits: "etcd to answer", err: s.silence}
	}

	if s.cluster.ID != s.data.cluster {
		return plan{intent: etcd.IntentNone, step: etcd.StepChecking, waits: "an operator", err: fmt.Errorf(
			"etcd's data here is of cluster %016x, and the other control planes have cluster %016x: if that is the right one, erase the "+
				"volume EPHEMERAL of this machine", s.data.cluster, s.cluster.ID)}
	}

	self, listed := s.cluster.Find(s.data.member)

	switch {
	case !listed && s.cluster.Confirmed:
		return plan{intent: etcd.IntentJoin, step: etcd.StepDiscarding, waits: "etcd to stop: its member was removed from the cluster"}
	case !listed:
		return plan{intent: etcd.IntentNone, step: etcd.StepMember, waits: "a quorum of etcd to say whether its member was removed"}
	case !self.Learner:
		*m = membership{}

		return plan{intent: etcd.IntentNone, step: etcd.StepMember}
	}

	p := plan{intent: etcd.IntentJoin, step: etcd.StepPromoting, waits: "etcd to catch up with the cluster"}

	switch {
	case !s.cluster.Confirmed:
		p.waits = "etcd to have a quorum"
		m.catchup = catchup{}
	case m.slow(s, self, now):
		p = plan{intent: etcd.IntentJoin, step: etcd.StepRemoving, lock: true, action: removeMember{self.ID}, err: m.gaveUp}
	case !self.Healthy:
		p.lock, p.waits = s.locked, "etcd to be healthy"
	default:
		if p.err = quorum.CheckPromotion(s.cluster.Members); p.err != nil {
			m.catchup, p.waits = catchup{}, "the other members to be healthy"
		} else {
			p.lock, p.action = true, promoteMember{self.ID}
		}
	}

	return s.underLock(p)
}

// slow reports whether this machine's learner is given up: it is removed, its data is set aside, and the machine joins again after a pause.
func (m *membership) slow(s sight, self quorum.Member, now time.Time) bool {
	m.catchup = m.catchup.next(*s.cluster, self, now)

	err := m.catchup.stuck(now)
	if err == nil {
		return false
	}

	m.rest, m.gaveUp = now.Add(restTime), err

	return true
}

// underLock returns the plan if it needs no lock or this machine has the lock, and otherwise one to take it.
func (s sight) underLock(p plan) plan {
	if !p.lock || s.locked {
		return p
	}

	p.step, p.waits, p.action, p.initialCluster = etcd.StepLocking, "the lock of etcd's members", nil, ""
	p.err = cmp.Or(s.obstacle, p.err)

	return p
}

// joining is the plan of a machine without data.
func (m *membership) joining(s sight, now time.Time) plan {
	p := plan{intent: etcd.IntentNone, step: etcd.StepWaiting, waits: "a cluster"}

	switch {
	case len(s.peers) == 0:
		return p
	case s.cluster == nil:
		p.err = s.silence

		return p
	}

	p.intent = etcd.IntentJoin

	switch {
	case !s.cluster.Confirmed:
		p.waits = "etcd to have a quorum"
		m.catchup = catchup{} // no learner can come closer

		return p
	case now.Before(m.rest):
		p.waits, p.err = "the next attempt", m.gaveUp

		return p
	}

	old, own, strangers := s.sort()

	switch {
	case len(old) > 0:
		return s.underLock(s.replacing(old[0]))
	case own != nil:
		return s.underLock(m.starting(s, *own, now))
	case len(strangers) > 0:
		return s.underLock(m.yielding(*s.cluster, strangers[0], now))
	}

	m.stranger, m.catchup = 0, catchup{}

	if p.err = quorum.CheckPromotion(s.cluster.Members); p.err != nil {
		p.step, p.waits = etcd.StepChecking, "the other members to be healthy"

		return p
	}

	return s.underLock(plan{intent: etcd.IntentJoin, step: etcd.StepAdding, lock: true, action: addLearner{}})
}

// sort finds this machine's old members, its own one that has not started, and others' that prevent it from joining.
func (s sight) sort() (old []quorum.Member, own *quorum.Member, strangers []quorum.Member) {
	for _, member := range s.cluster.Members {
		mine := slices.ContainsFunc(member.PeerURLs, func(url string) bool { return slices.Contains(s.peerURLs, url) })

		switch {
		case mine && member.Name == "" && own == nil && sameURLs(member.PeerURLs, s.peerURLs):
			own = &member
		case mine, member.Name == s.name:
			old = append(old, member)
		case member.Learner, member.Name == "" && !member.Healthy:
			strangers = append(strangers, member)
		}
	}

	return old, own, strangers
}

func sameURLs(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// replacing removes this machine's old member, whose data is lost.
func (s sight) replacing(old quorum.Member) plan {
	p := plan{intent: etcd.IntentReplace, step: etcd.StepRemoving}

	switch err := quorum.Check(s.cluster.Members, quorum.Remove, old.ID); {
	case old.Healthy:
		p.step, p.waits = etcd.StepChecking, "an operator"
		p.err = fmt.Errorf("member %016x of etcd at %s has this machine's name %q or address, and is healthy: give one of the two another", old.ID, strings.Join(old.PeerURLs, ","), old.Name)
	case errors.Is(err, quorum.ErrLast):
		p.step, p.waits = etcd.StepChecking, "an operator"
		p.err = fmt.Errorf("the data of this machine, the only member with a vote, is lost: %w", err)
	case err != nil:
		p.step, p.waits, p.err = etcd.StepChecking, "the other members to be healthy", err
	default:
		p.lock, p.action = true, removeMember{old.ID}
	}

	return p
}

// starting has etcd started as the member that was added.
func (m *membership) starting(s sight, own quorum.Member, now time.Time) plan {
	if m.added != own.ID {
		m.added, m.addedSince = own.ID, now
	}

	if s.locked && now.Sub(m.addedSince) >= startPatience && quorum.Check(s.cluster.Members, quorum.Remove, own.ID) == nil {
		*m = membership{rest: now.Add(restTime), gaveUp: fmt.Errorf("etcd did not start within %s; see: talosctl logs etcd", startPatience)}

		return plan{intent: etcd.IntentJoin, step: etcd.StepRemoving, lock: true, action: removeMember{own.ID}, err: m.gaveUp}
	}

	return plan{
		intent: etcd.IntentJoin, step: etcd.StepStarting, lock: true, waits: "etcd to start; see: talosctl logs etcd",
		initialCluster: initialCluster(s.cluster.Members, own.ID, s.name),
	}
}

// initialCluster returns the members as etcd's flag has them. The one that has not started gets this machine's name.
func initialCluster(members []quorum.Member, own uint64, name string) string {
	var all []string

	for _, member := range members {
		switch {
		case member.ID == own:
			member.Name = name
		case member.Name == "": // it is not published yet
			member.Name = hexID(member.ID)
		}

		for _, url := range member.PeerURLs {
			all = append(all, member.Name+"="+url)
		}
	}

	slices.Sort(all)

	return strings.Join(all, ",")
}

func hexID(id uint64) string { return fmt.Sprintf("%016x", id) }

// yielding waits for another machine that joins, or removes what is left of its attempt.
func (m *membership) yielding(cluster quorum.Cluster, other quorum.Member, now time.Time) plan {
	if m.stranger != other.ID || other.Healthy {
		m.stranger, m.strangerSince = other.ID, now
	}

	m.catchup = m.catchup.next(cluster, other, now)

	if err := m.catchup.stuck(now); other.Learner && (err != nil || now.Sub(m.strangerSince) >= strangerPatience) {
		return plan{intent: etcd.IntentJoin, step: etcd.StepRemoving, lock: true, action: removeMember{other.ID}, err: err}
	}

	// The other machine needs the lock to go on, so this one does not ask for it.
	p := plan{intent: etcd.IntentJoin, step: etcd.StepChecking, waits: fmt.Sprintf("member %s, which is joining", other)}
	if !other.Learner {
		p.waits = fmt.Sprintf("member %s, which was added and has not started; if its machine is gone: talosctl etcd remove-member %016x", other, other.ID)
	}

	return p
}

// leaving is the plan of a machine that was asked to leave. Its API server ends first: while etcd serves it, it withdraws its address from the
// cluster, so that no client is sent to it any more.
func (m membership) leaving(s sight, now time.Time) (membership, plan) {
	p := s.leaves()
	if p.action == nil && !p.lock || !s.serves && m.withdrawing.IsZero() {
		return membership{}, p
	}

	if m.withdrawing.IsZero() {
		m = membership{withdrawing: now}
	}

	switch {
	case s.serves:
		m.ended = time.Time{}
	case m.ended.IsZero():
		m.ended = now
	}

	if now.Sub(m.withdrawing) >= withdrawPatience || !s.serves && now.Sub(m.ended) >= drainTime {
		return m, p
	}

	return m, plan{intent: p.intent, step: etcd.StepWithdrawing, waits: "the API server here to end", lock: s.locked}
}

// leaves is its plan without an API server.
func (s sight) leaves() plan {
	p := plan{intent: etcd.IntentLeave, step: etcd.StepChecking}

	if !s.hasData {
		p.step, p.waits = etcd.StepLeft, "a reboot, after which the machine joins again"

		return p
	}

	switch {
	case s.unreadable != nil:
		p.waits, p.err = "an operator", s.unreadable

		return p
	case s.cluster == nil:
		p.waits, p.err = "etcd to answer", s.silence

		return p
	case !s.cluster.Confirmed:
		p.waits, p.err = "etcd to have a quorum", quorum.Check(s.cluster.Members, quorum.Leave, s.data.member)

		return p
	}

	self, listed := s.cluster.Find(s.data.member)
	if !listed || s.cluster.ID != s.data.cluster {
		p.step, p.waits = etcd.StepDiscarding, "etcd to stop"

		return p
	}

	if p.err = quorum.Check(s.cluster.Members, quorum.Leave, self.ID); p.err != nil {
		p.waits = "an operator"

		return p
	}

	p.step, p.lock = etcd.StepRemoving, true

	if heir, found := s.cluster.Heir(self.ID); self.Leader && found {
		p.action = moveLeader{heir.ID}
	} else {
		p.action = removeMember{self.ID}
	}

	return s.underLock(p)
}
