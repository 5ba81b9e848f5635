// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// plan is what brings the kernel in line with specs: steps in their order, each of one spec, so that what one step
// cannot do holds up nothing else.
type plan struct {
	steps []step
	// conditions of wanted specs as far as they are known without a step; a spec that is not in it is applied when its
	// steps, if any, succeed.
	conditions map[string]network.SpecConditionSpec
	// staying are leaving specs that cannot go yet.
	staying map[string]bool
	// again is when to plan again though nothing changes; 0 is never.
	again time.Duration
}

// step is one change of the kernel.
type step struct {
	// id is of the spec that it is for.
	id string
	// what says it in words, and is its identity: a step that failed is not tried again until something has changed.
	what string
	do   func(netlink.Kernel) error
	// stays says what is in effect instead while it fails.
	stays string
	// disturbs means that it changes what is observed also when it fails: it is tried again by time only.
	disturbs bool
}

// cause says why a step failed, with the names of links and not their numbers.
func (s step) cause(err error) string {
	if errno := unix.Errno(0); errors.As(err, &errno) {
		err = errno
	}

	return s.what + ": " + err.Error() + s.stays
}

func newPlan() plan {
	return plan{conditions: map[string]network.SpecConditionSpec{}, staying: map[string]bool{}}
}

func (p *plan) say(id string, state network.SpecState, cause string) {
	p.conditions[id] = network.SpecConditionSpec{State: state, Cause: cause}
}

func (p *plan) add(id, what string, do func(netlink.Kernel) error) {
	p.steps = append(p.steps, step{id: id, what: what, do: do})
}

// ranked returns specs in the order in which they win over each other: by layer, then by what else is given, then by id.
func ranked[S layered](items []item[S], less func(a, b S) int) []item[S] {
	out := slices.Clone(items)

	slices.SortFunc(out, func(a, b item[S]) int {
		return cmp.Or(b.spec.ConfigLayer().Compare(a.spec.ConfigLayer()), less(a.spec, b.spec), cmp.Compare(a.id, b.id))
	})

	return out
}
