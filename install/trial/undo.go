// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"time"
)

const (
	// retryAfter is the time between two attempts to do what failed.
	retryAfter = 5 * time.Second
	// undoLimit is how long undoing a configuration is tried, before the machine restarts, which undoes it too.
	undoLimit = 20 * time.Second
)

// restore returns the actions after which every boot begins with the old entry and configuration. Mostly they find nothing to change.
func (r Record) restore() (actions []Action) {
	if r.Entry.To != "" {
		actions = append(actions, BootOnce{}, SetDefault{r.Entry.From})
	}

	if r.Config.To != "" {
		actions = append(actions, StoreConfig{r.Config.From})
	}

	return actions
}

// undoing returns the actions that undo the change in this boot.
func (r Record) undoing() []Action {
	switch actions := r.restore(); {
	case r.Boot == "": // it never ran
		return actions
	case r.Entry.To == "":
		return append(actions, UseConfig{r.Config.From})
	default:
		return append(actions, Reboot{fmt.Sprintf("trial %s is reverted: %s", r.ID, r.Why)})
	}
}

// undo undoes the change again after an error, and restarts the machine when that takes too long.
func (r Record) undo(now time.Duration) (Record, []Action) {
	if now-r.watch.undoing < undoLimit {
		r.watch.trouble = ""

		return r, r.undoing()
	}

	r.watch.retry = now + retryAfter

	return r, []Action{Reboot{fmt.Sprintf("trial %s is reverted, and cannot be undone without a restart", r.ID)}}
}

// failed notes that an action failed.
func (r Record) failed(e Failed) (Record, []Action) {
	report := Report{Error: true, Text: fmt.Sprintf("trial %s: %s: %s", r.ID, nameOf(e.Action), e.Err)}

	if _, ok := e.Action.(Collect); ok { // it is the last one, and nothing depends on it
		next, actions := r.done()

		return next, append(actions, report)
	}

	w := &r.watch

	switch {
	case r.State == Armed, r.State == Running && w.committing == "":
		return r.revert(fmt.Sprintf("it could not begin: %s: %s", nameOf(e.Action), e.Err))
	case r.State == Reverted && r.Pending && !w.undoFailed:
		w.undoing, w.undoFailed = e.Now, true
	case r.State == Running:
		w.passed = w.passed || r.afterPoint(e.Action)
	}

	w.trouble, w.retry = nameOf(e.Action)+": "+e.Err, e.Now+retryAfter

	return r, []Action{report}
}

// afterPoint reports whether an action of a commit comes after the commit point.
func (r Record) afterPoint(a Action) bool {
	switch a.(type) {
	case SetDefault:
		return false
	case StoreConfig:
		return r.Entry.To != ""
	default:
		return true
	}
}

// done notes that the last list was done.
func (r Record) done() (Record, []Action) {
	switch {
	case r.watch.trouble != "": // only the error was reported
		return r, nil
	case r.State == Running && r.watch.committing != "":
		r.State, r.Why, r.watch = Committed, r.watch.committing, watch{}
	case r.State == Reverted && r.Pending && (r.Entry.To == "" || r.Boot == ""):
		r.Pending, r.watch = false, watch{}

		return r, []Action{Save{r}, Collect{}}
	}

	return r, nil
}

func nameOf(a Action) string {
	switch a := a.(type) {
	case Save:
		return "write the record to META"
	case BootOnce:
		if a.Entry == "" {
			return "have the boot loader start its default entry"
		}

		return "have the boot loader start " + a.Entry + " once"
	case SetDefault:
		return "make " + a.Entry + " the default boot entry"
	case StoreConfig:
		return "store configuration " + a.Config
	case UseConfig:
		return "use configuration " + a.Config
	case Reboot:
		return "restart"
	case Collect:
		return "remove what is not needed"
	default:
		return "report"
	}
}
