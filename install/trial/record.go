// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// State is how far a trial is. The empty State is that of a machine that never had one.
type State string

// The states.
const (
	Armed     State = "armed"
	Running   State = "running"
	Committed State = "committed"
	Reverted  State = "reverted"
)

// Decided reports whether the trial is over, or there was none.
func (s State) Decided() bool { return s != Armed && s != Running }

// Change is the old and the new value of one part of the machine. Without a new value, the part does not change.
type Change struct {
	From string `json:"from"`
	To   string `json:"to,omitempty"`
}

// Record is a trial. It is in META, except the fields of the boot that judges it.
type Record struct {
	ID string `json:"id"`
	// By is who made the change, such as an upgrade by a client with the role os:admin.
	By string `json:"by,omitempty"`
	// Entry are names of boot entries, and Config digests of configurations.
	Entry  Change `json:"entry"`
	Config Change `json:"config"`
	// At is the time of day at which the trial was armed.
	At time.Time `json:"at,omitzero"`
	// Replaced is the trial whose candidate this one's replaced before it was decided, with that candidate's digest.
	Replaced string `json:"replaced,omitempty"`
	// AtBoot is set when the trial begins with a boot, as it does with every new entry, and not at once.
	AtBoot bool `json:"atBoot,omitempty"`
	// Confirm is set when only a person can commit the change.
	Confirm bool `json:"confirm,omitempty"`
	// Deadline is how long the trial may run, and Own how long the machine's own conditions may be unmet without a break, unless it is 0.
	Deadline time.Duration `json:"deadline"`
	Own      time.Duration `json:"own,omitempty"`
	// Before are the names of the conditions that held when the trial was armed.
	Before []string `json:"before,omitempty"`

	State State `json:"state"`
	// Why is the reason of the decision.
	Why string `json:"why,omitempty"`
	// Pending is set while a reverted change is not yet undone.
	Pending bool `json:"pending,omitempty"`
	// Kept is set when the trial was withdrawn, and its boot entry stays on the machine.
	Kept bool `json:"kept,omitempty"`
	// Returns counts the boots of the new entry after the change was to be undone.
	Returns int `json:"returns,omitempty"`
	// Restarts counts the orderly restarts of the machine during the trial.
	Restarts int `json:"restarts,omitempty"`
	// ArmedIn is the boot in which the trial was armed, Boot the boot in which the trial runs, and Began the time since that boot when it began.
	ArmedIn string        `json:"armedIn,omitempty"`
	Boot    string        `json:"boot,omitempty"`
	Began   time.Duration `json:"began,omitempty"`

	watch watch
}

// watch is what is known in this boot only. Losing it costs time, and decides nothing.
type watch struct {
	// held is the time since the boot from when all conditions held; it counts while healthy is set. own is the same for the machine's own, and
	// ownLost is from when they do not hold.
	held, own       time.Duration
	ownLost         time.Duration
	healthy, ownAll bool
	lost            bool
	unmet           []Condition
	// confirmed is who committed the change. committing is the reason of a commit that is under way, and passed is set after the commit point.
	confirmed, committing string
	passed                bool
	// trouble is the error of the last list, which is done again at retry. undoing is when undoing the change failed first, if it did.
	trouble        string
	retry, undoing time.Duration
	undoFailed     bool
}

// Deadlines.
const (
	// Hold is how long the conditions must hold.
	Hold = 30 * time.Second
	// Settled is how long they must have held when a trial ends early, because the machine restarts: a change shows its effect within that.
	Settled = 10 * time.Second
	// DefaultDeadline is that of a trial whose author chose none.
	DefaultDeadline = 150 * time.Second
	// MinDeadline leaves a machine time to start and to be healthy for Hold, and MaxDeadline is when no one waits for it any more.
	MinDeadline = 60 * time.Second
	MaxDeadline = 24 * time.Hour
	// MinConfirm is that of a trial that begins at once and waits for a person only.
	MinConfirm = time.Second
)

func (r Record) minDeadline() time.Duration {
	if r.Confirm && !r.AtBoot {
		return MinConfirm
	}

	return MinDeadline
}

// DeadlineFor returns the Deadline of a trial, or its Own. wanted is the author's choice or 0, and took is how long the machine's last start took until
// it was healthy, or until its own conditions held, or 0. A machine that is slow to start gets twice that time, unless a deadline was chosen.
func DeadlineFor(wanted, took time.Duration) time.Duration {
	if wanted > 0 {
		return wanted
	}

	return min(max(DefaultDeadline, 2*took), MaxDeadline)
}

// check returns an error if the record cannot be that of a trial.
func (r Record) check() error {
	switch {
	case r.ID == "":
		return errors.New("it has no id")
	case r.Entry.To == "" && r.Config.To == "":
		return errors.New("it changes nothing")
	case r.Entry.To != "" && (r.Entry.From == "" || r.Entry.From == r.Entry.To):
		return fmt.Errorf("boot entry %q is to replace %q: these must be two entries", r.Entry.To, r.Entry.From)
	case r.Config.To != "" && r.Config.From == r.Config.To:
		return fmt.Errorf("configuration %s is to replace itself", r.Config.To)
	case r.Entry.To != "" && !r.AtBoot:
		return errors.New("a new boot entry is tried at a boot")
	case r.Deadline < r.minDeadline() || r.Deadline > MaxDeadline:
		return fmt.Errorf("deadline %s is out of range (%s to %s)", r.Deadline, r.minDeadline(), MaxDeadline)
	case r.Own != 0 && r.Own < MinDeadline:
		return fmt.Errorf("deadline %s of the machine's own conditions is less than %s", r.Own, MinDeadline)
	}

	switch r.State {
	case Armed, Running, Committed, Reverted:
		return nil
	default:
		return fmt.Errorf("state %q is not known", r.State)
	}
}

// The limits of a record in bytes, which are few: names and reasons. maxWhy leaves a reason much less than the room of an encoded record,
// so that a decision can always be saved.
const (
	maxRecord = 32 << 10
	maxArmed  = 16 << 10
	maxWhy    = 1 << 10
)

// brief returns a reason that is not too long.
func brief(why string) string {
	if len(why) <= maxWhy {
		return why
	}

	return strings.ToValidUTF8(why[:maxWhy], "") + " …"
}

// format is the number of the format of records. A version that changes the meaning of a field changes it.
const format = 1

type stored struct {
	Format int `json:"format"`
	Record
}

// Encode returns the record as it is kept in META.
func (r Record) Encode() ([]byte, error) {
	b, err := json.Marshal(stored{format, r})

	limit := maxRecord
	if r.State == Armed {
		limit = maxArmed
	}

	if err == nil && len(b) > limit {
		err = fmt.Errorf("%d bytes, at most %d are allowed", len(b), limit)
	}

	if err != nil {
		return nil, fmt.Errorf("encode trial %s: %w", r.ID, err)
	}

	return b, nil
}

// Decode reads a record. No bytes are the record of a machine without a trial.
//
// Bytes that are not a record are an error. The machine then runs what the boot loader and the stored configuration say, which is what was
// committed last.
func Decode(b []byte) (Record, error) {
	if len(b) == 0 {
		return Record{}, nil
	}

	if len(b) > maxRecord {
		return Record{}, fmt.Errorf("decode trial: %d bytes, at most %d are allowed", len(b), maxRecord)
	}

	var s stored
	if err := json.Unmarshal(b, &s); err != nil {
		return Record{}, fmt.Errorf("decode trial: %w", err)
	}

	if s.Format != format {
		return Record{}, fmt.Errorf("decode trial %s: format %d is not known (want %d)", s.ID, s.Format, format)
	}

	if err := s.Record.check(); err != nil {
		return Record{}, fmt.Errorf("decode trial %s: %w", s.ID, err)
	}

	return s.Record, nil
}
