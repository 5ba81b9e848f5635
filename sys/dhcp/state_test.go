// SPDX-License-Identifier: Apache-2.0

package dhcp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts of the state machine: after each event come its actions and its phase. -rewrite rewrites the results; commit
// only what you understand. The commands are
//
//	start v4|v6|stateless         a client that starts on 2000-01-01
//	granted 30m 52m 1h            the answer is a lease: T1, T2, its end; without them it is infinite
//	refused                       the answer is a refusal
//	silent [5s]                   no server answers, until the timeout is over, or an error comes after a time
//	due                           the wait is over
//	checked [10m]                 the link was down, a time after the last event
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var (
			s          state
			start, now time.Time
			timeout    time.Duration
			until      time.Time
		)

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var (
				event any
				times []time.Duration
				word  string
			)

			for _, arg := range d.CmdArgs {
				if length, err := time.ParseDuration(arg.Key); err == nil {
					times = append(times, length)
				} else {
					word = arg.Key
				}
			}

			switch d.Cmd {
			case "start":
				s = state{Protocol: V6(word == "stateless")}
				if word == "v4" {
					s.Protocol = V4()
				}

				s.Spread = func(d time.Duration) time.Duration { return d }
				start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
				now, event = start, due{}
			case "granted":
				times = append(times, 0, 0, 0)
				event = answered{Times: Times{times[0], times[1], times[2]}}
			case "refused":
				event = answered{err: s.Refused}
			case "silent":
				now, event = now.Add(append(times, timeout)[0]), answered{err: errors.New("silence")}
			case "due":
				now, event = until, due{}
			case "checked":
				now, event = now.Add(append(times, 0)[0]), checked{}
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}

			out := &strings.Builder{}
			fmt.Fprintln(out, "at", now.Sub(start))

			var actions []any
			s, actions = s.next(event, now)

			for _, action := range actions {
				switch a := action.(type) {
				case ask:
					timeout = a.timeout
					fmt.Fprintln(out, "ask", a.Question, a.timeout)
				case wait:
					until = a.until

					if until.IsZero() {
						fmt.Fprintln(out, "wait for a check")
					} else {
						fmt.Fprintln(out, "wait until", until.Sub(start))
					}
				case publish:
					fmt.Fprintln(out, "publish", a.trouble)
				case report:
					fmt.Fprintln(out, append([]any{"report", a.level, a.text}, a.args...)...)
				}
			}

			return out.String() + string(s.phase)
		})
	})
}
