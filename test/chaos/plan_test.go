// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var five = Cluster{ControlPlanes: []string{"c1", "c2", "c3", "c4", "c5"}, Workers: []string{"w1", "w2"}}

// TestPlan checks the rounds of many seeds: they repeat, each machine has one fault at a time, the disks of one machine at most are lost
// until the cluster has recovered, and all kinds come.
func TestPlan(t *testing.T) {
	all := slices.Concat(five.ControlPlanes, five.Workers)
	seen := map[Kind]int{}
	most := 0

	for seed := range uint64(50) {
		for n := range uint64(40) {
			round := Plan(seed, n, five)

			if d := cmp.Diff(round, Plan(seed, n, five)); d != "" {
				t.Fatalf("seed %d, round %d: it does not repeat:\n%s", seed, n, d)
			}

			var hurt []string

			for _, f := range round.Faults {
				seen[f.Kind]++

				hurt = append(hurt, f.Machines...)

				if f.Kind == Wipe && (len(round.Faults) != 1 || len(f.Machines) != 1 || !round.Recover) {
					t.Errorf("seed %d, round %d: got %v, want the disks of one machine only", seed, n, round)
				}

				if ends := f.Kind != Wipe && f.Kind != Reboot; ends != (f.For > 0) {
					t.Errorf("seed %d, round %d: got %v", seed, n, f)
				}
			}

			most = max(most, len(hurt))

			slices.Sort(hurt)

			if len(hurt) == 0 || len(slices.Compact(hurt)) != len(hurt) || slices.ContainsFunc(hurt, func(m string) bool { return !slices.Contains(all, m) }) {
				t.Errorf("seed %d, round %d: got %v", seed, n, round)
			}
		}
	}

	for _, k := range []Kind{Kill, Pause, Cut, Deaf, Slow, Partition, Reboot, SlowDisk, Wipe} {
		if seen[k] == 0 {
			t.Errorf("no round has %s", k)
		}
	}

	if most < len(five.ControlPlanes) {
		t.Errorf("at most %d machines have a fault at once, want rounds with all control planes", most)
	}
}

// TestPlanWithout checks that rounds have no fault that the computer cannot have.
func TestPlanWithout(t *testing.T) {
	c := five
	c.Without = []Kind{SlowDisk, Reboot}

	for n := range uint64(200) {
		for _, f := range Plan(1, n, c).Faults {
			if slices.Contains(c.Without, f.Kind) {
				t.Errorf("round %d: got %v", n, f)
			}
		}
	}
}
