// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var trialDefinition = domain.Type("Trials", "Tries={.tries}", "State={.state}", "Until={.until}", "Why={.why}")

// TrialState is how far a trial is.
type TrialState string

// The states. A trial is replaced when another change is tried in its place.
const (
	TrialArmed     TrialState = "armed"
	TrialRunning   TrialState = "running"
	TrialCommitted TrialState = "committed"
	TrialReverted  TrialState = "reverted"
	TrialReplaced  TrialState = "replaced"
)

// TrialHealthy is how Waits begins when a trial waits for time to pass only.
const TrialHealthy = "all conditions to hold"

// TrialSpec is a change of the machine that is on trial, or was: of its configuration, of the boot entry, or of both. The last one is kept
// through reboots, some earlier ones until the next boot.
type TrialSpec struct {
	// Tries is what changes: configuration, boot entry, or both.
	Tries string `yaml:"tries" protobuf:"1"`
	// State is how far the trial is, and Why is the reason of the decision.
	State TrialState `yaml:"state" protobuf:"2"`
	Why   string     `yaml:"why,omitempty" protobuf:"3"`
	// By is who made the change.
	By string `yaml:"by,omitempty" protobuf:"4"`
	// Since is when it began, and Until is when a running one ends, unless it is being committed. Both are in RFC 3339.
	Since string `yaml:"since,omitempty" protobuf:"5"`
	Until string `yaml:"until,omitempty" protobuf:"6"`
	// Confirm is set when only a person can commit the change.
	Confirm bool `yaml:"confirm" protobuf:"7"`
	// Deadline is how long the trial may run.
	Deadline time.Duration `yaml:"deadline" protobuf:"8"`
	// Waits are the conditions that a running trial waits for, with the reasons why they are not met.
	Waits string `yaml:"waits,omitempty" protobuf:"9"`
	// From and To are the digests of the configurations. From is empty when there was none.
	From string `yaml:"from,omitempty" protobuf:"10"`
	To   string `yaml:"to,omitempty" protobuf:"11"`
	// FromEntry and ToEntry are the names of the boot entries.
	FromEntry string `yaml:"fromEntry,omitempty" protobuf:"12"`
	ToEntry   string `yaml:"toEntry,omitempty" protobuf:"13"`
	// Replaced is the trial whose change this one took the place of.
	Replaced string `yaml:"replaced,omitempty" protobuf:"14"`
}

// Definition implements resource.Spec.
func (TrialSpec) Definition() *resource.Definition { return trialDefinition }
