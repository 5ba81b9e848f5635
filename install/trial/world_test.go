// SPDX-License-Identifier: Apache-2.0

package trial_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/install/trial"
)

var (
	errCut  = errors.New("power cut")
	errDisk = errors.New("EIO")
)

// world is a machine whose disk and boot loader do what Judge says. Everything outside running survives a power cut.
type world struct {
	t   testing.TB
	rng *rand.Rand

	meta            []byte
	byDefault, once string
	stored          string

	running struct {
		entry, config, boot string
		record              trial.Record
		now                 time.Duration
	}

	boots, replaces, leaves int
	// healthy entries and configurations, by name; starts are the entries that start at all.
	healthy, starts map[string]bool
	lost            bool
	// wellFor is how long the machine has been healthy in this boot.
	wellFor time.Duration
	// proved is set once the trial's change ran healthy for long enough, or a person confirmed it.
	proved map[string]bool
	// verdict is the first decision that reached the disk, by trial.
	verdict map[string]trial.State
	// pastPoint are the trials whose commit point was done without an error.
	pastPoint map[string]bool
	// faults is the chance in a thousand that an action fails, and cuts that the power is cut before or after it.
	faults, cuts int
	history      []string
}

func (w *world) log(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf("%s boot %d %s: ", w.running.entry, w.boots, w.running.now)+fmt.Sprintf(format, args...))
}

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()

	for _, line := range w.history {
		w.t.Log(line)
	}

	w.t.Fatalf(format, args...)
}

func (w *world) chance(permille int) bool { return w.rng.IntN(1000) < permille }

// judge passes an event, and carries out the actions. It returns an error when the machine went down.
func (w *world) judge(event trial.Event) error {
	for range 10 {
		var actions []trial.Action

		w.running.record, actions = trial.Judge(w.running.record, event)

		w.log("%T → %s", event, stateOf(w.running.record))

		if len(actions) == 0 {
			return nil
		}

		event = trial.Done{Now: w.running.now}

		for _, a := range actions {
			if w.chance(w.cuts) {
				w.log("cut before %s", show(a))

				return errCut
			}

			if err := w.do(a); errors.Is(err, errCut) {
				return err
			} else if err != nil {
				event = trial.Failed{Now: w.running.now, Action: a, Err: err.Error()}

				break
			}

			if w.chance(w.cuts) {
				w.log("cut after %s", show(a))

				return errCut
			}
		}
	}

	return nil // errors again and again: the next event goes on
}

// do carries out one action. An action that fails may have had its effect.
func (w *world) do(a trial.Action) error {
	w.log("%s", show(a))

	var (
		fails = w.chance(w.faults)
		takes = !fails || w.chance(300)
	)

	switch a := a.(type) {
	case trial.Save:
		if takes {
			w.save(a.Record)
		}
	case trial.BootOnce:
		if takes {
			w.once = a.Entry
		}
	case trial.SetDefault:
		if takes {
			w.byDefault = a.Entry
			w.check()
		}
	case trial.StoreConfig:
		if takes {
			w.stored = a.Config
			w.check()
		}
	case trial.UseConfig:
		if takes {
			if w.running.config != a.Config {
				w.wellFor = 0
			}

			w.running.config = a.Config
		}
	case trial.Reboot:
		if !fails {
			return errCut
		}
	case trial.Deny, trial.Report:
		return nil
	}

	if fails {
		return errDisk
	}

	if r := w.running.record; r.State == trial.Running &&
		(a == trial.SetDefault{Entry: r.Entry.To} || r.Entry.To == "" && a == trial.StoreConfig{Config: r.Config.To}) {
		w.pastPoint[r.ID] = true
	}

	return nil
}

func (w *world) save(r trial.Record) {
	b, err := r.Encode()
	if err != nil {
		w.fatal("%v", err)
	}

	w.meta = b

	if !r.State.Decided() {
		return
	}

	// One verdict: once decided on the disk, a trial is never decided in another way.
	if was, decided := w.verdict[r.ID]; decided && was != r.State {
		w.fatal("trial %s was %s, and is now %s", r.ID, was, r.State)
	}

	w.verdict[r.ID] = r.State
	w.check()
}

// check holds the invariants of the disk.
func (w *world) check() {
	for _, name := range []string{w.byDefault, w.stored} {
		if !w.proved[name] {
			w.fatal("%s is what every boot begins with, and was never healthy", name)
		}
	}
}

// start boots the machine: a loader that takes the one-shot entry, or the default one.
func (w *world) start() error {
	w.boots++

	entry := w.byDefault
	if w.once != "" {
		entry = w.once

		if !w.chance(w.faults) { // the firmware may keep the variable
			w.once = ""
		}
	}

	if !w.starts[entry] { // it panics, and the loader takes the default
		w.log("%s does not start", entry)

		entry = w.byDefault
	}

	w.running.entry, w.running.boot, w.running.config, w.running.now, w.wellFor = entry, fmt.Sprint(w.boots), w.stored, 0, 0

	w.running.record = w.read()

	return w.judge(trial.Boot{Boot: w.running.boot, Entry: entry, Default: w.byDefault, Config: w.stored})
}

func (w *world) read() trial.Record {
	r, err := trial.Decode(w.meta)
	if err != nil {
		w.fatal("%v", err)
	}

	return r
}

// second is one second of the machine's time.
func (w *world) second() error {
	well := w.healthy[w.running.entry] && w.healthy[w.running.config] && !w.chance(2)

	w.running.now += time.Second
	w.wellFor += time.Second

	if !well {
		w.wellFor = 0
	}

	// A change that ran well for as long as the conditions must hold has proved itself.
	if w.wellFor >= trial.Hold {
		w.proved[w.running.entry], w.proved[w.running.config] = true, true
	}

	switch r := w.running.record; {
	case w.chance(w.cuts):
		return errCut
	case r.State == trial.Running && w.chance(1):
		w.proved[r.Entry.To], w.proved[r.Config.To] = true, true

		return w.judge(trial.Confirm{Now: w.running.now})
	case r.State == trial.Running && w.chance(1): // someone applies another configuration meanwhile
		w.replaces++

		another := trial.Record{ID: fmt.Sprint(r.ID, "r", w.replaces), Before: r.Before, Deadline: trial.MinDeadline, Config: trial.Change{From: "unknown", To: fmt.Sprint("D", w.replaces)}}
		w.healthy[another.Config.To] = w.rng.IntN(3) > 0

		return w.judge(trial.Arm{Now: w.running.now, Boot: w.running.boot, Trial: another, Replace: true})
	case r.State == trial.Running && w.chance(1): // someone restarts the machine
		w.leaves++

		if w.wellFor >= trial.Settled {
			w.proved[r.Config.To] = true
		}

		if err := w.judge(trial.Leave{Now: w.running.now, Boot: w.running.boot, Why: "a restart"}); err != nil {
			return err
		}

		return errCut
	case w.chance(1):
		return w.judge(trial.Refuse{Now: w.running.now})
	case w.chance(1):
		return w.judge(trial.Fatal{Now: w.running.now, Why: "out of memory"})
	case w.chance(1): // the process that judges is restarted
		w.running.record = w.read()

		return w.judge(trial.Boot{Now: w.running.now, Boot: w.running.boot, Entry: w.running.entry, Default: w.byDefault, Config: w.stored})
	}

	return w.judge(trial.Observe{Now: w.running.now, Lost: w.lost, Conditions: []trial.Condition{
		{Name: "apid", Met: well},
		{Name: "ready", Kind: trial.Cluster, Met: !w.lost},
	}})
}

// run lets the machine run, through restarts, until its trial is decided and undone.
func (w *world) run(next error) {
	for limit := 0; limit < 20_000; limit++ {
		if next != nil {
			next = w.start()

			continue
		}

		if r := w.running.record; r.State.Decided() && !r.Pending {
			if r.State == trial.Reverted && w.running.entry == r.Entry.To && r.Returns < 2 {
				w.fatal("trial %s is reverted, and its entry goes on", r.ID)
			}

			return
		}

		next = w.second()
	}

	w.fatal("the trial is not decided")
}

// TestAnyCut runs trials with power cuts and errors at any action.
func TestAnyCut(t *testing.T) {
	verdicts := map[trial.State]int{}

	for seed := range uint64(4000) {
		for _, v := range tryWorld(t, seed) {
			verdicts[v]++
		}
	}

	if verdicts[trial.Committed] < 1000 || verdicts[trial.Reverted] < 1000 {
		t.Errorf("the trials do not try both verdicts often: %v", verdicts)
	}

	if replaced < 50 || left < 50 {
		t.Errorf("%d trials took the place of another one, and %d saw an orderly restart; want 50 of each", replaced, left)
	}
}

func FuzzAnyCut(f *testing.F) {
	f.Add(uint64(1))

	f.Fuzz(func(t *testing.T, seed uint64) { tryWorld(t, seed) })
}

// replaced counts the trials that were decided in the place of another one, and left the orderly restarts during trials.
var replaced, left int

// tryWorld runs three trials, and returns their verdicts.
func tryWorld(t testing.TB, seed uint64) map[string]trial.State {
	rng := rand.New(rand.NewPCG(seed, 14))

	w := &world{
		t: t, rng: rng, byDefault: "A0", stored: "C0",
		starts: map[string]bool{"A0": true}, healthy: map[string]bool{"A0": true, "C0": true}, proved: map[string]bool{"A0": true, "C0": true},
		verdict: map[string]trial.State{}, pastPoint: map[string]bool{},
	}

	next := w.start()

	for n := 1; n <= 3; n++ {
		id := fmt.Sprint("t", n)
		r := trial.Record{ID: id, Before: []string{"ready"}, Confirm: rng.IntN(5) == 0, Deadline: trial.MinDeadline * time.Duration(1+rng.IntN(3))}

		if rng.IntN(3) > 0 {
			r.Entry = trial.Change{From: w.byDefault, To: fmt.Sprint("A", n)}
			r.AtBoot = true
		}

		if r.Entry.To == "" || rng.IntN(2) > 0 {
			r.Config = trial.Change{From: w.stored, To: fmt.Sprint("C", n)}
			r.AtBoot = r.AtBoot || rng.IntN(2) > 0
		}

		w.starts[r.Entry.To] = rng.IntN(4) > 0
		w.healthy[r.Entry.To] = rng.IntN(3) > 0
		w.healthy[r.Config.To] = rng.IntN(3) > 0
		w.faults, w.cuts = rng.IntN(3)*rng.IntN(100), rng.IntN(3)*rng.IntN(20)
		w.lost = rng.IntN(4) == 0

		if next == nil {
			next = w.judge(trial.Arm{Now: w.running.now, Boot: w.running.boot, Trial: r})
		}

		w.run(next)

		// Without faults, what runs is one whole pair, now and at the next boot.
		w.faults, w.cuts, w.lost = 0, 0, false
		w.run(w.start())

		if last := w.running.record; last.Replaced != "" {
			replaced++
			r = last
		}

		w.whole(r)

		next = nil
	}

	left += w.leaves

	return w.verdict
}

// whole checks that the machine runs what was decided.
func (w *world) whole(r trial.Record) {
	if w.pastPoint[r.ID] && w.verdict[r.ID] != trial.Committed {
		w.fatal("trial %s is %q, and it was past its commit point", r.ID, w.verdict[r.ID])
	}

	entry, config := r.Entry.From, r.Config.From
	if w.verdict[r.ID] == trial.Committed {
		entry, config = r.Entry.To, r.Config.To
	}

	if r.Entry.To != "" && (w.byDefault != entry || w.running.entry != entry) || r.Config.To != "" && (w.stored != config || w.running.config != config) {
		w.fatal("trial %s (%+v, %+v) is %q: default %s, stored %s; entry %s and configuration %s run", r.ID, r.Entry, r.Config, w.verdict[r.ID],
			w.byDefault, w.stored, w.running.entry, w.running.config)
	}
}

func FuzzDecode(f *testing.F) {
	b, err := trial.Record{ID: "t1", Entry: trial.Change{From: "A", To: "B"}, AtBoot: true, Deadline: time.Minute, State: trial.Running}.Encode()
	if err != nil {
		f.Fatal(err)
	}

	f.Add(b)
	f.Add([]byte(`{"format":2}`))

	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := trial.Decode(b)
		if err != nil || r.ID == "" {
			return
		}

		// What was read can be judged and saved, at any time.
		for _, event := range []trial.Event{trial.Boot{Boot: "1", Entry: r.Entry.To}, trial.Tick{Now: time.Hour}, trial.Fatal{Why: "x"}} {
			next, _ := trial.Judge(r, event)
			if stateOf(next) != stateOf(r) {
				again(t, next)
			}
		}
	})
}
