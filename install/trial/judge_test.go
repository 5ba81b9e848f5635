// SPDX-License-Identifier: Apache-2.0

package trial_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/install/trial"
)

// TestScripts runs the scripts of the state machine: after each event come its actions and the state. -rewrite rewrites the results; commit
// only what you understand. Times are those since the boot. The commands are
//
//	arm [entry] [config] [at-boot] [confirm] [deadline=60s] [own=60s] [before=(a,b)] [replace] [id=t1] [at=5s]
//	                              a trial of entry B after A, of configuration 2 after 1, or both
//	boot [entry=B] [default=B] [config=2] [why=(panic: oops)] [same]
//	                              a boot, of entry A with the default A and the stored configuration 1; or the same boot again
//	see [unmet=(x,y)] [own-before=x] [cluster=z] [lost] [at=5s]
//	                              the conditions: those that are not met, the others hold
//	withdraw [id=x] [keep]        a boot that does not come
//	stored [config=2]             another way by which a configuration was stored
//	leave [config=3]              an orderly restart, with that stored configuration
//	confirm, refuse [id=x] [by=y], fatal why=(x), done, tick: as their names say, [at=5s]
//	failed N error                action N of the last list, from 0, failed
//
// A record is encoded and decoded between two boots.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/judge", func(t *testing.T, path string) {
		s := script{boot: 1}

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			event := s.event(t, d)

			var actions []trial.Action

			s.record, actions = trial.Judge(s.record, event)
			if len(actions) > 0 {
				s.last = actions
			}

			out := &strings.Builder{}
			for _, a := range actions {
				fmt.Fprintln(out, show(a))
			}

			fmt.Fprint(out, "= ", stateOf(s.record))

			if next, ok := s.record.Next(); ok {
				fmt.Fprint(out, ", next ", next)
			}

			return out.String() + "\n"
		})
	})
}

// script is what a script has led to.
type script struct {
	record trial.Record
	last   []trial.Action
	boot   int
	now    time.Duration
}

// args returns the first value of each argument; those without one have an empty value.
func args(d *datadriven.TestData) map[string]string {
	out := map[string]string{}
	for _, a := range d.CmdArgs {
		out[a.Key] = strings.Join(a.Vals, ", ")
	}

	return out
}

func (s *script) event(t *testing.T, d *datadriven.TestData) trial.Event {
	a := args(d)
	has := func(name string) bool { _, ok := a[name]; return ok }
	or := func(name, other string) string {
		if has(name) {
			return a[name]
		}

		return other
	}
	length := func(name string) time.Duration {
		if !has(name) {
			return 0
		}

		v, err := time.ParseDuration(a[name])
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}

		return v
	}

	if has("at") {
		s.now = length("at")
	}

	switch d.Cmd {
	case "arm":
		r := trial.Record{ID: or("id", "t1"), AtBoot: has("at-boot"), Confirm: has("confirm"), Deadline: length("deadline"), Own: length("own"), Before: names(a["before"])}
		if has("entry") {
			r.Entry = trial.Change{From: "A", To: "B"}
		}

		if has("config") {
			r.Config = trial.Change{From: "1", To: or("to", "2")}
		}

		return trial.Arm{Now: s.now, Boot: s.id(), Trial: r, Replace: has("replace")}
	case "boot":
		if !has("same") {
			s.boot++
			s.now = length("at")
		}

		s.record = again(t, s.record)

		return trial.Boot{Now: s.now, Boot: s.id(), Entry: or("entry", "A"), Default: or("default", "A"), Config: or("config", "1"), Why: a["why"]}
	case "see":
		conditions := []trial.Condition{{Name: "apid", Met: true}}

		for kind, list := range []string{trial.Own: a["unmet"], trial.OwnBefore: a["own-before"], trial.Cluster: a["cluster"]} {
			for _, name := range names(list) {
				conditions = append(conditions, trial.Condition{Name: name, Kind: trial.Kind(kind), Why: "no " + name})
			}
		}

		return trial.Observe{Now: s.now, Conditions: conditions, Lost: has("lost")}
	case "settle":
		return trial.Settle{Now: s.now, Why: "an upgrade begins"}
	case "leave":
		return trial.Leave{Now: s.now, Boot: s.id(), Config: a["config"], Why: "a person restarts the machine"}
	case "tick":
		return trial.Tick{Now: s.now}
	case "confirm":
		return trial.Confirm{Now: s.now, ID: a["id"], By: a["by"]}
	case "refuse":
		return trial.Refuse{Now: s.now, ID: a["id"], By: a["by"]}
	case "withdraw":
		return trial.Withdraw{Now: s.now, ID: or("id", "t1"), Why: "the machine could not be restarted", Keep: has("keep")}
	case "stored":
		return trial.Stored{Now: s.now, Config: or("config", "2"), Why: "it was applied for good"}
	case "fatal":
		return trial.Fatal{Now: s.now, Why: a["why"]}
	case "done":
		return trial.Done{Now: s.now}
	case "failed":
		var n int

		d.ScanArgs(t, "action", &n)

		return trial.Failed{Now: s.now, Action: s.last[n], Err: or("error", "EIO")}
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)

		return nil
	}
}

func (s *script) id() string { return fmt.Sprint("boot-", s.boot) }

func names(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ", "), func(s string) bool { return s == "" })
}

// again returns the record as the next boot finds it.
func again(t testing.TB, r trial.Record) trial.Record {
	t.Helper()

	if r.ID == "" {
		return r
	}

	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}

	out, err := trial.Decode(b)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

func stateOf(r trial.Record) string {
	out := string(r.State)
	if out == "" {
		out = "no trial"
	}

	if r.Pending {
		out += ", pending"
	}

	if r.Replaced != "" {
		out += ", in the place of " + r.Replaced
	}

	if r.Why != "" {
		out += ": " + r.Why
	}

	return out
}

func show(a trial.Action) string {
	switch a := a.(type) {
	case trial.Save:
		return "save " + stateOf(a.Record)
	case trial.BootOnce:
		return "boot-once " + a.Entry
	case trial.SetDefault:
		return "default " + a.Entry
	case trial.StoreConfig:
		return "store " + a.Config
	case trial.UseConfig:
		return "use " + a.Config
	case trial.Reboot:
		return "reboot: " + a.Why
	case trial.Collect:
		return "collect"
	case trial.Report:
		if a.Error {
			return "error: " + a.Text
		}

		return "report: " + a.Text
	case trial.Deny:
		return "deny: " + a.Why
	default:
		return fmt.Sprintf("%T", a)
	}
}
