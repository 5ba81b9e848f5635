// SPDX-License-Identifier: Apache-2.0

package etcd

import "github.com/seed-59268b81/talos/cosi/resource"

// Intent is what this machine is about to do with its membership.
type Intent string

// The intents.
const (
	// IntentNone: the machine is a member, or waits for a cluster.
	IntentNone Intent = "none"
	// IntentBootstrap: the machine was asked to start a new cluster.
	IntentBootstrap Intent = "bootstrap"
	// IntentJoin: it becomes a member of a cluster that was found.
	IntentJoin Intent = "join"
	// IntentReplace: it takes the place of its own earlier member, whose data is lost.
	IntentReplace Intent = "replace"
	// IntentLeave: it was asked to leave the cluster.
	IntentLeave Intent = "leave"
)

// Step is how far an intent has come.
type Step string

// The steps.
const (
	// StepWaiting: there is no cluster yet.
	StepWaiting Step = "waiting"
	// StepLocking: the machine takes the lock under which members change.
	StepLocking Step = "locking"
	// StepChecking: it has the lock, and the cluster must change before this machine can go on.
	StepChecking Step = "checking"
	// StepWithdrawing: the API server here ends. It withdraws its address from the cluster while etcd still serves it.
	StepWithdrawing Step = "withdrawing"
	// StepRemoving: the old member is removed from the cluster.
	StepRemoving Step = "removing"
	// StepAdding: the new member is added to the cluster, as a learner.
	StepAdding Step = "adding"
	// StepStarting: etcd is started as the new member.
	StepStarting Step = "starting"
	// StepPromoting: the learner catches up, and gets a vote then.
	StepPromoting Step = "promoting"
	// StepMember: the machine is a member with a vote.
	StepMember Step = "member"
	// StepDiscarding: the cluster has confirmed that the member of the data here was removed, and the data is set aside.
	StepDiscarding Step = "discarding"
	// StepLeft: the machine has left the cluster. It joins again after a reboot.
	StepLeft Step = "left"
)

var membershipStatusDefinition = domain.Type("EtcdMembershipStatuses",
	"Intent={.intent}", "Step={.step}", "Member={.memberID}", "Waits For={.waitsFor}", "Error={.error}")

// MembershipStatusSpec is what this machine does to be a member of etcd, and what it waits for.
type MembershipStatusSpec struct {
	Intent Intent `yaml:"intent" protobuf:"1"`
	Step   Step   `yaml:"step" protobuf:"2"`
	// WaitsFor is what must happen before the next step; empty when nothing is waited for.
	WaitsFor string `yaml:"waitsFor,omitempty" protobuf:"3"`
	// Error is why the last step failed.
	Error string `yaml:"error,omitempty" protobuf:"4"`
	// MemberID and ClusterID are hexadecimal.
	MemberID  string `yaml:"memberID,omitempty" protobuf:"5"`
	ClusterID string `yaml:"clusterID,omitempty" protobuf:"6"`
	// InitialCluster has the members with which a new member is started: NAME=URL,…
	InitialCluster string `yaml:"initialCluster,omitempty" protobuf:"7"`
}

// Definition implements resource.Spec.
func (MembershipStatusSpec) Definition() *resource.Definition { return membershipStatusDefinition }

// Belongs reports whether the machine has the data of a member that the cluster is not known to lack, and does not leave: an API server here
// can have its data in etcd.
func (s MembershipStatusSpec) Belongs() bool {
	switch s.Intent {
	case IntentNone:
		return s.Step != StepWaiting
	case IntentLeave:
		return s.Step == StepChecking // it may be refused
	default:
		return false
	}
}

var memberStatusDefinition = domain.Type("EtcdMemberStatuses",
	"Name={.name}", "Learner={.learner}", "Healthy={.healthy}", "Leader={.leader}", "Peer URLs={.peerURLs}")

// MemberStatusSpec is a member of etcd as this machine sees it. Its id is that of the member, hexadecimal.
type MemberStatusSpec struct {
	// Name is empty until the member has started.
	Name       string   `yaml:"name" protobuf:"1"`
	PeerURLs   []string `yaml:"peerURLs" protobuf:"2"`
	ClientURLs []string `yaml:"clientURLs" protobuf:"3"`
	// Learner: it has no vote yet.
	Learner bool `yaml:"learner" protobuf:"4"`
	// Healthy: it answers, and knows a leader.
	Healthy bool `yaml:"healthy" protobuf:"5"`
	Leader  bool `yaml:"leader" protobuf:"6"`
}

// Definition implements resource.Spec.
func (MemberStatusSpec) Definition() *resource.Definition { return memberStatusDefinition }

var leaveRequestDefinition = domain.Type("EtcdLeaveRequests")

// LeaveRequestSpec is the request that this machine's member leaves etcd. The API writes it. It has effect until the machine reboots.
type LeaveRequestSpec struct{}

// Definition implements resource.Spec.
func (LeaveRequestSpec) Definition() *resource.Definition { return leaveRequestDefinition }
