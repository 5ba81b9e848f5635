// SPDX-License-Identifier: Apache-2.0

package trial

import "time"

// Kind is whose condition a condition is.
type Kind uint8

const (
	// Own is a condition of the machine that every healthy machine meets.
	Own Kind = iota
	// OwnBefore is a condition of the machine that counts when it held before the change, such as a default gateway.
	OwnBefore
	// Cluster is a condition of the cluster. It counts when it held before the change, and while the cluster exists for its other nodes.
	Cluster
)

// Condition is something that a trial waits for. Why is the reason why it is not met.
type Condition struct {
	Name string
	Kind Kind
	Met  bool
	Why  string
}

// Event is what Judge decides about. Each has the time since the machine's boot.
type Event interface{ at() time.Duration }

type (
	// Arm begins a trial. Its State is set by Judge. With Replace, it may take the place of a running trial of a configuration: then it
	// reverts to what that one would have reverted to, which is the last configuration that was committed, and what held before that one counts,
	// too.
	Arm struct {
		Now     time.Duration
		Boot    string
		Trial   Record
		Replace bool
	}
	// Boot is the first event of each boot, before the configuration is read. Why is the reason of the boot that is known, such as a kernel
	// panic; it is empty after a power cut.
	Boot struct {
		Now  time.Duration
		Boot string
		// Entry is the boot entry that runs, and Default the one that the boot loader starts next. Config is the digest of the stored
		// configuration.
		Entry, Default, Config string
		Why                    string
	}
	// Observe has all conditions as they are now. Lost is set while the cluster is not there for its other nodes either.
	Observe struct {
		Now        time.Duration
		Conditions []Condition
		Lost       bool
	}
	// Tick is time that passes: Next has the time of the next one.
	Tick struct{ Now time.Duration }
	// Settle commits a trial of a configuration that waits for no person, if all conditions hold and have for Settled. Otherwise nothing
	// happens.
	Settle struct {
		Now time.Duration
		Why string
	}
	// Leave is an orderly restart of the machine. It is a Settle; a trial that is not committed goes on at the next boot, since who restarts a
	// machine does not mean to undo its configuration. Config is the digest of the stored configuration: the next boot goes back to that one, which
	// may have been stored for it and is not the one before the trial.
	Leave struct {
		Now               time.Duration
		Boot, Config, Why string
	}
	// Confirm commits the trial with the id, whatever its conditions are. Refuse reverts it.
	Confirm struct {
		Now    time.Duration
		ID, By string
	}
	Refuse struct {
		Now    time.Duration
		ID, By string
	}
	// Withdraw reverts the trial with the id before its boot, because that boot does not come. With Keep the boot entry stays on the machine: it
	// was there before.
	Withdraw struct {
		Now     time.Duration
		ID, Why string
		Keep    bool
	}
	// Stored is another way by which a configuration was stored. It ends the trial of a configuration.
	Stored struct {
		Now    time.Duration
		Config string
		Why    string
	}
	// Fatal is an error from which the new entry or configuration cannot recover.
	Fatal struct {
		Now time.Duration
		Why string
	}
	// Failed is an action of the last list that failed; those after it were not done. Done follows a list that was done.
	Failed struct {
		Now    time.Duration
		Action Action
		Err    string
	}
	Done struct{ Now time.Duration }
)

func (e Arm) at() time.Duration     { return e.Now }
func (e Boot) at() time.Duration    { return e.Now }
func (e Observe) at() time.Duration { return e.Now }
func (e Tick) at() time.Duration    { return e.Now }
func (e Settle) at() time.Duration  { return e.Now }
func (e Leave) at() time.Duration   { return e.Now }
func (e Confirm) at() time.Duration { return e.Now }
func (e Refuse) at() time.Duration  { return e.Now }
func (e Stored) at() time.Duration  { return e.Now }
func (e Fatal) at() time.Duration   { return e.Now }
func (e Failed) at() time.Duration  { return e.Now }
func (e Done) at() time.Duration    { return e.Now }

func (e Withdraw) at() time.Duration { return e.Now }

// Action is something to do. The actions of a list are done in order, and an action that fails ends the list. All can be done again.
type Action any

type (
	// Save writes the record to META, and returns when it is on the disk.
	Save struct{ Record Record }
	// BootOnce has the boot loader start an entry at the next boot only, and SetDefault at all others. SetDefault writes nothing when the
	// entry is the default already.
	BootOnce   struct{ Entry string }
	SetDefault struct{ Entry string }
	// StoreConfig replaces the stored configuration atomically by the one with the digest, which is the candidate or an earlier one. It
	// writes nothing when the stored one has that digest.
	StoreConfig struct{ Config string }
	// UseConfig activates the configuration with the digest in this boot, and stores nothing.
	UseConfig struct{ Config string }
	// Reboot restarts the machine.
	Reboot struct{ Why string }
	// Collect removes entries and configurations that are neither in use nor what the machine would go back to.
	Collect struct{}
	// Report tells users.
	Report struct {
		Error bool
		Text  string
	}
	// Deny is the answer to a request that changes nothing.
	Deny struct{ Why string }
)
