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

// plan has the changes of the kernel that specs require: ordered steps, each for one spec, so that a failed step blocks no other.
type plan struct {
	steps []step
	// conditions are those of wanted specs that are known without a step; any other spec is applied when its steps, if any, succeed.
	conditions map[string]network.SpecConditionSpec
	// staying are leaving specs that cannot be released yet.
	staying map[string]bool
	// again is when to plan again even if nothing changes; 0 is never.
	again time.Duration
}

// step is one change of the kernel.
type step struct {
	// id is that of the spec.
	id string
	// what describes the step and identifies it: a step that failed is not tried again until something has changed.
	what string
	do   func(netlink.Kernel) error
	// stays describes what is in effect while the step fails.
	stays string
	// disturbs means that the step changes the kernel even if it fails: it is tried again only after a pause.
	disturbs bool
	// silent means that the kernel does not report the change.
	silent bool
}

// cause returns why a step failed, with the names of links and not their numbers.
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

// ranked returns specs by precedence: by layer, then by less, then by id.
func ranked[S layered](items []item[S], less func(a, b S) int) []item[S] {
	out := slices.Clone(items)

	slices.SortFunc(out, func(a, b item[S]) int {
		return cmp.Or(b.spec.ConfigLayer().Compare(a.spec.ConfigLayer()), less(a.spec, b.spec), cmp.Compare(a.id, b.id))
	})

	return out
}
