// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var five = Cluster{ControlPlanes: []string{"c1", "c2", "c3", "c4", "c5"}, Workers: []string{"w1", "w2"}, Spare: "c6"}

// TestPlan checks the rounds of many seeds: they repeat, each machine has one fault at a time, the disks of one machine at most are lost
// until the cluster has recovered, a machine that is replaced is out of the cluster from then on, and all kinds come.
func TestPlan(t *testing.T) {
	seen := map[Kind]int{}
	most := 0

	for seed := range uint64(50) {
		c := five

		for n := range uint64(40) {
			round := Plan(seed, n, c)

			if d := cmp.Diff(round, Plan(seed, n, c)); d != "" {
				t.Fatalf("seed %d, round %d: it does not repeat:\n%s", seed, n, d)
			}

			all := slices.Concat(c.ControlPlanes, c.Workers)
			after := c.After(round)

			if len(after.ControlPlanes) != 5 || len(slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(after.ControlPlanes), after.Spare))))) != 6 {
				t.Fatalf("seed %d, round %d: got the cluster %v after %v", seed, n, after, round)
			}

			var hurt []string

			for _, f := range round.Faults {
				seen[f.Kind]++

				hurt = append(hurt, f.Machines...)

				if f.Kind == Replace {
					if len(f.Machines) != 2 || f.Machines[1] != c.Spare || after.Spare != f.Machines[0] || len(round.Faults) != 1 || !round.Recover {
						t.Errorf("seed %d, round %d: got %v, and the cluster %v after it", seed, n, round, after)
					}

					hurt = f.Machines[:1]
				}

				if f.Kind == Wipe && (len(round.Faults) != 1 || len(f.Machines) != 1 || !round.Recover) {
					t.Errorf("seed %d, round %d: got %v, want the disks of one machine only", seed, n, round)
				}

				if ends := f.Kind != Wipe && f.Kind != Reboot; ends != (f.For > 0) {
					t.Errorf("seed %d, round %d: got %v", seed, n, f)
				}
			}

			most = max(most, len(hurt))

			slices.Sort(hurt)

			c = after

			if len(hurt) == 0 || len(slices.Compact(hurt)) != len(hurt) || slices.ContainsFunc(hurt, func(m string) bool { return !slices.Contains(all, m) }) {
				t.Errorf("seed %d, round %d: got %v", seed, n, round)
			}
		}
	}

	for _, k := range []Kind{Kill, Pause, Cut, Deaf, Slow, Partition, Reboot, SlowDisk, Wipe, Replace} {
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

// TestPlanWithoutSpare checks that no machine is replaced when there is none to replace it.
func TestPlanWithoutSpare(t *testing.T) {
	c := five
	c.Spare = ""

	for n := range uint64(200) {
		round := Plan(1, n, c)

		for _, f := range round.Faults {
			if f.Kind == Replace {
				t.Errorf("round %d: got %v", n, f)
			}
		}

		if d := cmp.Diff(c, c.After(round)); d != "" {
			t.Errorf("round %d: got another cluster:\n%s", n, d)
		}
	}
}
