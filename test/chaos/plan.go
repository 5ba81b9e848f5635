// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds. A machine of a fault that is neither Wipe nor Replace is as before when the fault ends.
const (
	// Kill cuts the power; at the end the machine is switched on.
	Kill Kind = "kill"
	// Pause stops the processors.
	Pause Kind = "pause"
	// Cut cuts the network in both directions.
	Cut Kind = "cut"
	// Deaf cuts the network to the machine only, so that it still sends.
	Deaf Kind = "deaf"
	// Slow delays, drops and duplicates packets.
	Slow Kind = "slow"
	// Partition separates the machines from all others.
	Partition Kind = "partition"
	// Reboot presses the reset button.
	Reboot Kind = "reboot"
	// SlowDisk makes the disks slow.
	SlowDisk Kind = "slow disk"
	// Wipe cuts the power, empties the disks, switches on, and applies the machine's configuration.
	Wipe Kind = "wipe"
	// Replace loses a control plane for good: its power is cut, and its disks are emptied. The second machine, which was never seen under its own
	// name and address, or not since it was lost itself, takes its place. At the end the member of the first is removed, as an operator does.
	Replace Kind = "replace"
)

// Fault is a fault of some machines.
type Fault struct {
	Kind Kind
	// Machines by their names.
	Machines []string
	// For is how long it lasts. Reboot and Wipe have no end of their own.
	For time.Duration
}

func (f Fault) String() string {
	s := fmt.Sprintf("%s %s", f.Kind, strings.Join(f.Machines, ", "))
	if f.For > 0 {
		s += fmt.Sprintf(" for %s", f.For)
	}

	return s
}

// Round is what happens at once. The next round begins when all faults of this one are over, and Rest has passed.
type Round struct {
	Faults []Fault
	Rest   time.Duration
	// Recover waits, before the next round, until the cluster is whole: after a wipe, so that the cluster never loses
	// the disks of two machines.
	Recover bool
}

// Cluster has the names of the machines.
type Cluster struct {
	ControlPlanes, Workers []string
	// Spare is a machine that is off and has empty disks. It can become a control plane; "" is none.
	Spare string
	// Without are the kinds that this computer cannot have. Other faults take their place.
	Without []Kind
}

// oneOf returns one of the kinds that this computer can have.
func (c Cluster) oneOf(r *rand.Rand, kinds ...Kind) Kind {
	kinds = slices.DeleteFunc(kinds, func(k Kind) bool { return slices.Contains(c.Without, k) })

	return kinds[r.IntN(len(kinds))]
}

// After returns the cluster when a round is over.
func (c Cluster) After(round Round) Cluster {
	for _, f := range round.Faults {
		if f.Kind != Replace {
			continue
		}

		lost, instead := f.Machines[0], f.Machines[1]
		c.ControlPlanes = append(slices.DeleteFunc(slices.Clone(c.ControlPlanes), func(name string) bool { return name == lost }), instead)
		c.Spare = lost

		slices.Sort(c.ControlPlanes)
	}

	return c
}

// Plan returns the n-th round of a seed. Every round is a function of both and of the rounds before (After), so that a run of any length
// repeats.
func Plan(seed, n uint64, c Cluster) Round {
	r := rand.New(rand.NewPCG(seed, n))
	all := slices.Concat(c.ControlPlanes, c.Workers)
	rest := time.Duration(r.IntN(15)) * time.Second

	switch r.IntN(10) {
	case 0: // a control plane for good
		if c.Spare != "" {
			return Round{
				Faults: []Fault{{Kind: Replace, Machines: append(pick(r, c.ControlPlanes, 1), c.Spare), For: duration(r, 5, 30)}}, Rest: rest, Recover: true,
			}
		}

		fallthrough
	case 1: // the disks of one machine
		return Round{Faults: []Fault{{Kind: Wipe, Machines: pick(r, all, 1)}}, Rest: rest, Recover: true}
	case 2: // more than half of the control planes, or all
		return Round{Faults: []Fault{{
			Kind: c.oneOf(r, Kill, Pause, Cut, SlowDisk), Machines: pick(r, c.ControlPlanes, len(c.ControlPlanes)/2+1+r.IntN((len(c.ControlPlanes)+1)/2)),
			For: duration(r, 10, 30),
		}}, Rest: rest, Recover: true}
	case 3: // the world falls apart
		return Round{Faults: []Fault{{Kind: Partition, Machines: pick(r, all, 1+r.IntN(len(all)-1)), For: duration(r, 15, 45)}}, Rest: rest}
	}

	// Different faults of one to three machines.
	machines := pick(r, all, 1+r.IntN(min(3, len(all))))
	round := Round{Rest: rest}

	for _, m := range machines {
		f := Fault{Kind: c.oneOf(r, Kill, Pause, Cut, Deaf, Slow, Reboot, SlowDisk), Machines: []string{m}, For: duration(r, 5, 40)}
		if f.Kind == Reboot {
			f.For = 0
		}

		round.Faults = append(round.Faults, f)
	}

	return round
}

// pick returns n names of all, in the order of all.
func pick(r *rand.Rand, all []string, n int) []string {
	order := r.Perm(len(all))[:n]
	slices.Sort(order)

	var out []string
	for _, i := range order {
		out = append(out, all[i])
	}

	return out
}

// duration returns a whole number of seconds from least to most.
func duration(r *rand.Rand, least, most int) time.Duration {
	return time.Duration(least+r.IntN(most-least+1)) * time.Second
}
