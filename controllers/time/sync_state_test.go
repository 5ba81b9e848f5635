// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/sys/clock"
)

// TestSyncScripts runs the scripts of the state machine: after each event come its actions and its phase. -rewrite rewrites the results;
// commit only what you understand. The commands are
//
//	start [earliest=2000-01-01]       a machine that starts on 2000-01-01
//	configure [a b …] [disabled] [boottimeout=1m]
//	answer a [offset=1s] [distance=1ms] [leap] | [silent] | [kiss=RATE]
//	due                               the time of the last pause passes
//	later 10m                         time passes
func TestSyncScripts(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "sync"), func(t *testing.T, path string) {
		var (
			s        syncState
			now, end time.Time
		)

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var event any

			switch d.Cmd {
			case "start":
				now = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
				s, end = syncState{phase: waiting, started: now}, now

				if date := argument(t, d, "earliest", ""); date != "" {
					s.earliest = parsed(t, date, func(text string) (time.Time, error) { return time.Parse(time.DateOnly, text) })
				}

				return string(s.phase)
			case "later":
				now = now.Add(parsed(t, d.CmdArgs[0].Key, time.ParseDuration))

				return now.Format(time.DateTime)
			case "configure":
				c := configured{settings{disabled: d.HasArg("disabled"), bootTimeout: parsed(t, argument(t, d, "boottimeout", "0s"), time.ParseDuration)}}

				for _, arg := range d.CmdArgs {
					if len(arg.Vals) == 0 && arg.Key != "disabled" {
						c.servers = append(c.servers, arg.Key)
					}
				}

				event = c
			case "answer":
				event = answerOf(t, d)
			case "due":
				if event = any(due{}); end.After(now) {
					now = end
				}
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}

			var (
				out     strings.Builder
				actions []any
			)

			s, actions = s.next(event, now)

			for _, action := range actions {
				if p, ok := action.(pause); ok {
					end = now.Add(p.Duration)
				}

				fmt.Fprintln(&out, described(action))
			}

			return out.String() + string(s.phase)
		})
	})
}

func argument(t *testing.T, d *datadriven.TestData, key, otherwise string) string {
	t.Helper()

	if d.HasArg(key) {
		d.ScanArgs(t, key, &otherwise)
	}

	return otherwise
}

func parsed[T any](t *testing.T, text string, parse func(string) (T, error)) T {
	t.Helper()

	value, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return value
}

func answerOf(t *testing.T, d *datadriven.TestData) answered {
	t.Helper()

	a := answered{answer: answer{server: d.CmdArgs[0].Key}}
	a.Offset = parsed(t, argument(t, d, "offset", "0s"), time.ParseDuration)
	a.Distance = parsed(t, argument(t, d, "distance", "1ms"), time.ParseDuration)
	a.RoundTrip = time.Millisecond

	if d.HasArg("leap") {
		a.Leap = clock.LeapInsert
	}

	if code := argument(t, d, "kiss", ""); code != "" {
		a.err = &KissError{Code: code}
	} else if d.HasArg("silent") {
		a.err = errors.New(a.server + " is silent")
	}

	return a
}

func described(action any) string {
	switch a := action.(type) {
	case ask:
		return "ask " + strings.Join(a.servers, " ")
	case pause:
		return "pause " + a.String()
	case set:
		return "set " + a.String()
	case adjust:
		return fmt.Sprintf("adjust %s constant=%d leap=%d", a.offset, a.constant, a.leap)
	case publish:
		return fmt.Sprintf("publish synced=%t epoch=%d disabled=%t spikes=%d", a.Synced, a.Epoch, a.SyncDisabled, a.ConsecutiveSpikes)
	case report:
		return strings.TrimSpace(fmt.Sprintln(append([]any{"report", a.level, a.text}, a.args...)...))
	default:
		return fmt.Sprintf("unknown action %T", a)
	}
}
