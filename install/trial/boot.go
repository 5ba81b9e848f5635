// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// maxReturns limits the restarts of a machine whose boot loader insists on the reverted entry.
const maxReturns = 2

// boot returns what a boot finds. The actions end in a restart when the new entry runs and must not.
func (r Record) boot(e Boot) (Record, []Action) {
	r.watch = watch{}

	switch {
	case (r.State == Running || r.Staged()) && r.past(e):
		return r.complete()
	case r.State != "" && cmp.Or(r.Boot, r.ArmedIn) == e.Boot:
		return r.resume(e.Now)
	}

	isNew := r.Entry.To != "" && e.Entry == r.Entry.To

	switch r.State {
	case Armed:
		if r.Staged() && e.Config != r.Config.From {
			return r.stored(Stored{Config: e.Config, Why: "another configuration was stored since"})
		}

		if isNew || r.Entry.To == "" {
			return r.run(e)
		}

		return r.settle(reason("its boot entry never started", e.Why))
	case Running:
		why := reason("the machine restarted before the trial was decided", e.Why)
		if isNew {
			return r.revert(why)
		}

		return r.settle(why)
	case Reverted:
		switch {
		case !r.Pending:
			return r, nil
		case isNew:
			return r.again(e)
		default:
			return r.settle(r.Why)
		}
	default:
		return r, nil
	}
}

// past reports whether a commit has passed its commit point.
func (r Record) past(e Boot) bool {
	if r.Entry.To != "" {
		return e.Default == r.Entry.To
	}

	return e.Config == r.Config.To
}

func reason(what, why string) string {
	if why == "" {
		return what
	}

	return what + ": " + why
}

// run begins the trial that was armed for this boot.
func (r Record) run(e Boot) (Record, []Action) {
	// The deadline counts from the start of the machine.
	r.State, r.Boot, r.Began = Running, e.Boot, 0

	if r.Restarts > 0 { // its deadline was not meant to have a start of the machine in it
		r.Deadline = max(r.Deadline, DefaultDeadline)
	}

	actions := []Action{Save{r}}
	if r.Config.To != "" {
		actions = append(actions, UseConfig{r.Config.To})
	}

	return r, actions
}

// resume goes on in the boot in which the trial was armed or began, after the caller was restarted.
func (r Record) resume(now time.Duration) (Record, []Action) {
	r.watch.ownLost = now // nothing was seen since

	switch {
	case r.State == Armed:
		return r, r.start()
	case r.State == Running && r.Config.To != "":
		return r, []Action{UseConfig{r.Config.To}}
	case r.State == Reverted && r.Pending:
		return r, r.undoing()
	default:
		return r, nil
	}
}

// complete does the rest of a commit that was cut after the commit point.
func (r Record) complete() (Record, []Action) {
	why := "it was healthy, and the machine restarted while it was committed"
	if r.State == Armed {
		why = "it was stored before it was tried"
	}

	r.State, r.watch.passed = Running, true
	r, actions := r.commit(why)

	if r.Config.To != "" {
		actions = append(actions, UseConfig{r.Config.To})
	}

	return r, actions
}

// settle ends a trial that is over and not running: the old entry and configuration are in use already.
func (r Record) settle(why string) (Record, []Action) {
	r.State, r.Why, r.Pending, r.watch = Reverted, brief(why), false, watch{}

	// A cut before the record is saved leads here again.
	return r, slices.Concat(r.restore(), []Action{Save{r}, r.reverted(), Collect{}})
}

// again restarts the machine once more when the boot loader has started the reverted entry.
func (r Record) again(e Boot) (Record, []Action) {
	if r.Returns < maxReturns {
		r.Returns, r.Boot = r.Returns+1, e.Boot

		return r, slices.Concat([]Action{Save{r}}, r.undoing())
	}

	r.Pending, r.watch = false, watch{}

	return r, []Action{Save{r}, Report{Error: true, Text: fmt.Sprintf(
		"trial %s is reverted, and the boot loader started %s again after %d restarts: choose %s in its menu, and check the firmware's variables",
		r.ID, r.Entry.To, maxReturns, r.Entry.From)}}
}
