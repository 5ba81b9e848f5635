// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestVIPScripts runs the scripts of virtual addresses. -rewrite rewrites the results; commit only what you understand. The commands are
//
//	start
//	look [obstacle] [won] [present]    what the machine sees
func TestVIPScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/vip", func(t *testing.T, path string) {
		var phase vipPhase

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "start" {
				phase = vipWaiting

				return ""
			}

			look := vipLook{won: d.HasArg("won"), present: d.HasArg("present")}
			if d.HasArg("obstacle") {
				look.obstacle = "an obstacle"
			}

			next, action := phase.next(look)
			phase = next

			if action == vipNothing {
				return fmt.Sprintln(phase)
			}

			return fmt.Sprintln(phase, action)
		})
	})
}

// TestVIPIsSafe: over all histories, a machine has the address only while it campaigns, and never leaves the election while the kernel has
// the address.
func TestVIPIsSafe(t *testing.T) {
	type state struct {
		phase    vipPhase
		campaign bool
	}

	seen, queue := map[state]bool{}, []state{{phase: vipWaiting}}

	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]

		if seen[s] {
			continue
		}

		seen[s] = true

		for bits := range 8 {
			look := vipLook{won: bits&1 != 0 && s.campaign, present: bits&2 != 0 && (s.phase == vipHolding || s.phase == vipLeaving)}
			if bits&4 != 0 {
				look.obstacle = "an obstacle"
			}

			next, action := s.phase.next(look)
			to := state{next, s.campaign}

			switch action {
			case vipCampaign:
				to.campaign = true
			case vipAbandon, vipYield:
				if look.present {
					t.Errorf("%v, %+v: %s while the kernel has the address", s, look, action)
				}

				to.campaign = action == vipYield && s.campaign
			case vipNothing:
			}

			if next == vipHolding && !to.campaign || next == vipHolding && s.phase != vipHolding && !look.won {
				t.Errorf("%v, %+v: holding without having won", s, look)
			}

			if (next == vipWaiting) == to.campaign {
				t.Errorf("%v, %+v: %s, campaign %t", s, look, next, to.campaign)
			}

			queue = append(queue, to)
		}
	}

	if len(seen) != 4 {
		t.Errorf("reached %d states, want 4: %v", len(seen), seen)
	}
}
