// SPDX-License-Identifier: Apache-2.0

// Package quorum decides whether a member of etcd may be taken away.
//
// It is a pure function of the members as they were seen, the action and its target. Each command that takes a member away, for a
// moment or forever, asks it first:
//
//   - leave, remove and reset take the vote away. The change needs a quorum now, the voters that remain need one afterwards, and the last
//     voter stays: all data would be lost with it.
//   - reboot, shutdown and upgrade leave the vote, and take its holder away for a while. The other voters must still be a quorum. The
//     only voter of a cluster may go: no other could do its work anyway. A member that is not healthy may go, too: nothing is lost.
//
// A learner has no vote, so it may always go.
package quorum

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Action is what takes a member away.
type Action string

// The actions.
const (
	Leave    Action = "leave"
	Remove   Action = "remove"
	Reset    Action = "reset"
	Reboot   Action = "reboot"
	Shutdown Action = "shutdown"
	Upgrade  Action = "upgrade"
	Rollback Action = "rollback"
)

// Actions are all of them.
var Actions = []Action{Leave, Remove, Reset, Reboot, Shutdown, Upgrade, Rollback}

// forever reports whether the action takes the vote away, too.
func (a Action) forever() bool { return a == Leave || a == Remove || a == Reset }

// Anyway returns the flag of talosctl's command with which the action is done in spite of a refusal. There is none for leave and remove, which
// etcd itself refuses, and for rollback.
func (a Action) Anyway() string {
	switch a {
	case Reset:
		return "--graceful=false"
	case Reboot, Shutdown, Upgrade:
		return "--force"
	default:
		return ""
	}
}

// Member of etcd, as it was seen.
type Member struct {
	ID uint64
	// Name is empty until the member has started.
	Name       string
	PeerURLs   []string
	ClientURLs []string
	Learner    bool
	// Healthy: it answers, and knows a leader.
	Healthy bool
	Leader  bool
	// Applied is how much of the log it has applied, in entries.
	Applied uint64
}

// String returns the member's name, or what is known instead.
func (m Member) String() string {
	switch {
	case m.Name != "":
		return m.Name
	case len(m.PeerURLs) > 0:
		return m.PeerURLs[0]
	default:
		return fmt.Sprintf("%016x", m.ID)
	}
}

// Cluster is etcd's members, as one of them has listed them.
type Cluster struct {
	ID      uint64
	Members []Member
	// Confirmed: a quorum has confirmed the list. Otherwise it may be an old one.
	Confirmed bool
}

// Find returns the member with an id.
func (c Cluster) Find(id uint64) (Member, bool) {
	i := slices.IndexFunc(c.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return Member{}, false
	}

	return c.Members[i], true
}

// Voters returns the members with a vote.
func (c Cluster) Voters() []Member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool { return m.Learner })
}

// Heir returns a healthy member that can lead instead of another.
func (c Cluster) Heir(of uint64) (Member, bool) {
	i := slices.IndexFunc(c.Members, func(m Member) bool { return m.ID != of && !m.Learner && m.Healthy })
	if i < 0 {
		return Member{}, false
	}

	return c.Members[i], true
}

// The reasons to refuse an action; match them with errors.Is.
var (
	// ErrNoMember: the target is not a member.
	ErrNoMember = errors.New("etcd has no such member; see: talosctl etcd members")
	// ErrLast: the target is the last voter.
	ErrLast = errors.New("it is the only member, and all data would be lost")
	// ErrQuorum: etcd would lose its quorum, or has none.
	ErrQuorum = errors.New("etcd's quorum does not allow it")
)

// Refusal is the error of an action that a quorum does not allow.
type Refusal struct {
	Action Action
	Target Member
	// Voters and Healthy are those that would remain; Needed is their quorum.
	Voters, Healthy []Member
	Needed          int
	// Missing are the others that are not healthy now.
	Missing []Member
	// Lost: there is no quorum already.
	Lost bool
	// All is the number of voters now.
	All int
}

// Unwrap returns ErrQuorum.
func (*Refusal) Unwrap() error { return ErrQuorum }

// Error says who would remain, and what to do.
func (r *Refusal) Error() string {
	var text strings.Builder

	if r.Lost {
		fmt.Fprintf(&text, "%s %s: etcd has lost its quorum: of %s %d %s healthy%s, %d %s needed",
			r.Action, r.Target, plural(r.All), len(r.Healthy), are(len(r.Healthy)), names(r.Healthy), r.Needed, are(r.Needed))
	} else {
		fmt.Fprintf(&text, "%s %s: etcd would lose its quorum: of %s %d would remain healthy%s, %d %s needed",
			r.Action, r.Target, plural(r.All), len(r.Healthy), names(r.Healthy), r.Needed, are(r.Needed))
	}

	switch {
	case r.Lost:
		text.WriteString("; start the others, or recover from a snapshot (talosctl bootstrap --recover-from FILE)")
	case len(r.Missing) > 0:
		text.WriteString("; repair the others first" + names(r.Missing))
	default:
		text.WriteString("; add a control plane first")
	}

	if flag := r.Action.Anyway(); flag != "" {
		text.WriteString(", or " + flag)
	}

	return text.String()
}

func plural(voters int) string {
	if voters == 1 {
		return "1 voting member"
	}

	return fmt.Sprintf("%d voting members", voters)
}

func are(count int) string {
	if count == 1 {
		return "is"
	}

	return "are"
}

func names(members []Member) string {
	if len(members) == 0 {
		return ""
	}

	all := make([]string, 0, len(members))
	for _, m := range members {
		all = append(all, m.String())
	}

	return " (" + strings.Join(all, ", ") + ")"
}
