// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Judge returns the record after an event, and what to do. It writes nothing: a record that must survive a power cut is in a Save.
func Judge(r Record, event Event) (Record, []Action) {
	switch e := event.(type) {
	case Arm:
		return r.arm(e)
	case Boot:
		return r.boot(e)
	case Observe:
		r.observe(e)
	case Settle:
		if r.settles(e.Now) {
			return r.commit(e.Why)
		}

		return r, nil
	case Leave:
		return r.leave(e)
	case Confirm:
		if why := r.open(e.ID, Committed); why != "" {
			return r, []Action{Deny{why}}
		}

		r.watch.confirmed = cmp.Or(e.By, "a person")
	case Refuse:
		if (r.waits() || r.Staged()) && (e.ID == "" || e.ID == r.ID) {
			return r.withdraw(Withdraw{ID: r.ID, Why: cmp.Or(e.By, "a person") + " refused it before its boot"})
		}

		if why := r.open(e.ID, Reverted); why != "" {
			return r, []Action{Deny{why}}
		}

		return r.end(cmp.Or(e.By, "a person") + " refused it")
	case Withdraw:
		return r.withdraw(e)
	case Stored:
		return r.stored(e)
	case Fatal:
		return r.end(e.Why)
	case Failed:
		return r.failed(e)
	case Done:
		return r.done()
	}

	return r.decide(event.at())
}

// open returns why a request about a trial cannot be met, or an empty string. end is what the request asks for.
func (r Record) open(id string, end State) string {
	switch {
	case r.ID == "":
		return "there is no trial"
	case id != "" && id != r.ID:
		return fmt.Sprintf("trial %s is not known: the last one is %s, which is %s", id, r.ID, r.State)
	case r.State == Armed:
		return fmt.Sprintf("trial %s begins with the next boot", r.ID)
	case r.State.Decided() && r.State != end:
		return fmt.Sprintf("trial %s is %s already: %s", r.ID, r.State, r.Why)
	case end == Reverted && r.watch.passed:
		return fmt.Sprintf("trial %s is being committed: %s", r.ID, r.watch.committing)
	default:
		return ""
	}
}

// arm begins a trial: at once, or with the next boot.
func (r Record) arm(e Arm) (Record, []Action) {
	replaces := e.Replace && (r.replaceable(e.Trial) || r.Staged() && e.Trial.Entry.To == "" || r.waits() && e.Trial.Config.To == "")

	if !replaces && (!r.State.Decided() || r.Pending) {
		return r, []Action{Deny{fmt.Sprintf("trial %s is not over: wait until it is decided, or confirm it", r.ID)}}
	}

	t := e.Trial
	if t.Replaced, t.Kept = "", false; replaces {
		t.Replaced = fmt.Sprintf("%s (boot entry %s)", r.ID, r.Entry.To)

		if r.Config.To != "" {
			t.Config.From, t.Replaced = r.Config.From, fmt.Sprintf("%s (configuration %s)", r.ID, r.Config.To)
		}

		if r.State == Running { // what its change broke counts, too
			t.Before = union(r.Before, t.Before)
		}
	}

	t.State, t.Why, t.Pending, t.Returns, t.Restarts, t.ArmedIn, t.Boot, t.Began, t.watch = Armed, "", false, 0, 0, e.Boot, "", 0, watch{}
	t.Deadline = DeadlineFor(t.Deadline, 0)

	_, err := t.Encode()
	if err = cmp.Or(t.check(), err); err != nil {
		return r, []Action{Deny{"the trial cannot begin: " + err.Error()}}
	}

	if !t.AtBoot {
		t.State, t.Boot, t.Began = Running, e.Boot, e.Now

		return t, []Action{Save{t}, UseConfig{t.Config.To}}
	}

	return t, append([]Action{Save{t}}, t.start()...)
}

// union returns the names of both lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)

	return slices.Compact(all)
}

// replaceable reports whether another trial may take the place of the one of a configuration. Once a commit has begun, it may not: what is
// stored may be the new configuration already. A boot entry may not either: its restart would undo the configuration.
func (r Record) replaceable(by Record) bool {
	return r.State == Running && r.Entry.To == "" && r.watch.committing == "" && by.Entry.To == ""
}

// waits reports whether the trial is that of a boot entry alone, which begins with the next boot: it may be another entry's.
func (r Record) waits() bool { return r.State == Armed && r.Config.To == "" }

// Staged reports whether the trial is that of a configuration alone, which begins with the next boot.
func (r Record) Staged() bool { return r.State == Armed && r.Entry.To == "" && r.Config.To != "" }

// withdraw reverts a trial that is armed. The boot loader starts the default entry, also after a cut: the next boot settles the rest.
func (r Record) withdraw(e Withdraw) (Record, []Action) {
	if r.ID != e.ID || r.State != Armed {
		return r, []Action{Deny{fmt.Sprintf("trial %s is not the one that begins with the next boot", e.ID)}}
	}

	r.Kept = e.Keep

	return r.revert(e.Why)
}

// stored ends a trial of a configuration alone, since another configuration, or this one, is stored.
func (r Record) stored(e Stored) (Record, []Action) {
	if !r.Staged() && (r.State != Running || r.Entry.To != "") {
		return r, nil
	}

	r.State, r.Why, r.watch = Reverted, brief(e.Why), watch{}
	if e.Config == r.Config.To {
		r.State = Committed
	}

	return r, []Action{Save{r}, Report{Text: fmt.Sprintf("trial %s is %s: %s", r.ID, r.State, r.Why)}, Collect{}}
}

// start returns the actions that lead to the boot in which the trial runs.
func (r Record) start() (actions []Action) {
	if r.Entry.To != "" {
		actions = append(actions, BootOnce{r.Entry.To})
	}

	return append(actions, Reboot{"trial " + r.ID})
}

// decide ends a running trial when it is time, and does again what failed.
func (r Record) decide(now time.Duration) (Record, []Action) {
	w := r.watch
	end, limit := r.Due()

	switch {
	case w.trouble != "" && now < w.retry:
		return r, nil
	case r.State == Reverted && r.Pending && w.trouble != "":
		return r.undo(now)
	case r.State != Running:
		return r, nil
	case w.passed:
		return r.commit(w.committing)
	case w.trouble != "" && now-r.Began >= r.Deadline:
		return r.end("it could not be committed: " + w.trouble)
	case w.confirmed != "":
		return r.commit(w.confirmed + " confirmed it")
	case !r.Confirm && w.healthy && now-w.held >= Hold:
		return r.commit(fmt.Sprintf("all conditions held for %s", Hold))
	case now < end:
		return r, nil
	case !r.Confirm && w.lost && w.ownAll && now-w.own >= Hold:
		return r.commit(fmt.Sprintf("the machine's own conditions held for %s, and the cluster is lost for its other nodes too", Hold))
	case r.Confirm:
		return r.end(fmt.Sprintf("no one confirmed it within %s", limit))
	case w.healthy:
		return r.end(fmt.Sprintf("the conditions did not hold for %s within %s", Hold, limit))
	default:
		return r.end(fmt.Sprintf("not healthy within %s: %s", limit, r.Unmet()))
	}
}

// Next returns when the next Tick is due, as time since the boot, and false if none is.
func (r Record) Next() (time.Duration, bool) {
	w := r.watch
	end, _ := r.Due()

	switch {
	case w.trouble != "" && (r.State == Running || r.Pending):
		return w.retry, true
	case r.State != Running:
		return 0, false
	case !r.Confirm && w.healthy:
		return min(w.held+Hold, end), true
	default:
		return end, true
	}
}

// commit makes the change what every boot begins with. The first action is the commit point. The record stays running until all are done.
func (r Record) commit(why string) (Record, []Action) {
	why = brief(why)
	r.watch.committing, r.watch.trouble = why, ""

	end := r
	end.State, end.Why = Committed, why

	var actions []Action
	if r.Entry.To != "" {
		actions = append(actions, SetDefault{r.Entry.To})
	}

	if r.Config.To != "" {
		actions = append(actions, StoreConfig{r.Config.To})
	}

	return r, append(actions, Save{end}, Report{Text: fmt.Sprintf("trial %s is committed: %s", r.ID, why)}, Collect{})
}

// end reverts a running trial, unless it is past the commit point.
func (r Record) end(why string) (Record, []Action) {
	if r.State != Running || r.watch.passed {
		return r, nil
	}

	return r.revert(why)
}

// revert decides that the change goes, and undoes it.
func (r Record) revert(why string) (Record, []Action) {
	r.State, r.Why, r.Pending, r.watch = Reverted, brief(why), true, watch{}

	return r, slices.Concat([]Action{Save{r}, r.reverted()}, r.undoing())
}

func (r Record) reverted() Report {
	return Report{Error: true, Text: fmt.Sprintf("trial %s is reverted: %s", r.ID, r.Why)}
}
