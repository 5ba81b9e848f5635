// SPDX-License-Identifier: Apache-2.0

package network

import (
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// operatorState is the state machine of OperatorSpecController: which operators run. The state machine of a lease is in package dhcp. The
// wanted operators go in; the next state, the actions and the conditions come out.
//
//	           no link, no router for DHCPv6            the link is up
//	(none) ◀──────────────────────────────── waiting ──────────────────▶ running ◀─┐ the link was down, or the name has
//	                                            ▲     another spec or link  │  └───┘ changed: the lease is checked
//	                                            └───────────────────────────┘
type operatorState struct {
	hostname string // the name that is sent to servers
	running  map[string]runningOperator
}

type runningOperator struct {
	spec  network.OperatorSpecSpec
	mode  mode6  // of DHCPv6
	index uint32 // of the link: a link of the same name may be another one
	up    bool   // at the last call
}

// wantedOperator is a spec with its link.
type wantedOperator struct {
	id     string
	spec   network.OperatorSpecSpec
	link   *network.LinkStatusSpec // nil for none
	kernel netlink.Link            // the link in the kernel
}

// The actions, by the id of an operator.
type (
	stopOperator  struct{ id string }
	startOperator struct {
		id string
		runningOperator
		link network.LinkStatusSpec
	}
	checkLease struct{ id string }
)

// next returns the state, the actions and the conditions of operators that do not run, for all wanted operators.
func (s operatorState) next(hostname string, wanted []wantedOperator) (operatorState, []any, map[string]network.SpecConditionSpec) {
	var actions []any

	next, conditions := operatorState{hostname, map[string]runningOperator{}}, map[string]network.SpecConditionSpec{}
	unwanted := maps.Clone(s.running)

	for _, w := range wanted {
		old, runs := s.running[w.id]
		delete(unwanted, w.id)

		op, cause := runningOperator{spec: w.spec, mode: w.mode(old)}, ""

		switch {
		case w.link == nil:
			cause = "link " + w.spec.LinkName + " does not exist"
		case w.spec.Operator == network.OperatorDHCP6 && op.mode == mode6Off:
			cause = "no router on link " + w.spec.LinkName + " advertises DHCPv6"
		default:
			op.index, op.up = w.link.Index, usable(w.spec, *w.link)
		}

		same := runs && cause == "" && op.same(old)
		if runs && !same {
			actions = append(actions, stopOperator{w.id})
		}

		switch {
		case cause != "":
		case same:
			if op.up && !old.up || hostname != s.hostname {
				actions = append(actions, checkLease{w.id})
			}

			next.running[w.id] = op
		case op.up:
			actions = append(actions, startOperator{w.id, op, *w.link})
			next.running[w.id] = op
		default:
			cause = "link " + w.spec.LinkName + " is down"
		}

		if cause != "" {
			conditions[w.id] = network.SpecConditionSpec{State: network.SpecWaiting, Cause: cause}
		}
	}

	for _, id := range slices.Sorted(maps.Keys(unwanted)) {
		actions = append(actions, stopOperator{id})
	}

	return next, actions, conditions
}

// same compares all except whether the link is up, and the layer of the spec.
func (o runningOperator) same(other runningOperator) bool {
	o.up, o.spec.Layer = other.up, other.spec.Layer

	return o == other
}

// usable reports whether packets can go over the link.
func usable(spec network.OperatorSpecSpec, l network.LinkStatusSpec) bool {
	if l.Flags&nethelpers.LinkUp == 0 {
		return false
	}

	return !spec.RequireUp || l.OperationalState == nethelpers.OperStateUp || (l.OperationalState == nethelpers.OperStateUnknown && l.LinkState)
}

// mode6 is what a DHCPv6 client requests.
type mode6 uint8

const (
	mode6Off mode6 = iota
	mode6Stateless
	mode6Stateful
)

// mode returns what the DHCPv6 client of a spec requests. A client of the configuration requests addresses. A default client does what
// routers advertise (RFC 4861, 4.2), and continues with it while the link is silent.
func (w wantedOperator) mode(old runningOperator) mode6 {
	switch router := w.kernel.Router; {
	case w.spec.Operator != network.OperatorDHCP6:
		return mode6Off
	case w.spec.Layer > network.LayerDefault, router&netlink.RouterManaged != 0:
		return mode6Stateful
	case router&netlink.RouterOtherConfig != 0:
		return mode6Stateless
	case router&netlink.RouterSeen == 0 && old.index == w.kernel.Index:
		return old.mode
	default:
		return mode6Off
	}
}
