// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/sys/acd"
)

// TestConflictScripts runs the scripts of address conflicts. -rewrite rewrites the results; commit only what you understand. A machine is a
// number. The commands are
//
//	start
//	later 2s                     time passes
//	said ADDRESS by=7            a machine has used an address
//	round [ADDRESS …] [own=7]    the addresses of this machine; own is another number of it
func TestConflictScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/conflicts", func(t *testing.T, path string) {
		var (
			c   *conflicts
			now time.Time
		)

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var number int

			for _, key := range []string{"by", "own"} {
				if d.HasArg(key) {
					d.ScanArgs(t, key, &number)
				}
			}

			machine := [6]byte{5: byte(number)}

			switch d.Cmd {
			case "start":
				c, now = &conflicts{}, time.Unix(0, 0)

				return ""
			case "later":
				length, err := time.ParseDuration(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}

				now = now.Add(length)

				return ""
			case "said":
				return fmt.Sprintln("news:", c.note(acd.Use{Link: 1, Addr: addr(d.CmdArgs[0].Key), By: machine}, now))
			case "round":
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}

			have := map[claimed]bool{}

			for _, arg := range d.CmdArgs {
				if arg.Key != "own" {
					have[claimed{1, addr(arg.Key)}] = true
				}
			}

			probe, others, again := c.round(have, map[[6]byte]bool{machine: true}, now)
			order := func(a, b claimed) int { return cmp.Compare(a.addr.String(), b.addr.String()) }
			out := &strings.Builder{}

			for _, at := range slices.SortedFunc(slices.Values(probe), order) {
				fmt.Fprintln(out, "probe", at.addr)
			}

			for _, at := range slices.SortedFunc(maps.Keys(others), order) {
				fmt.Fprintln(out, at.addr, "is also that of", others[at].By[5])
			}

			return fmt.Sprint(out, "again after ", again)
		})
	})
}
