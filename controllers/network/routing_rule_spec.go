// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// routingRuleSpecController sets the routing rules of RoutingRuleSpecs.
func routingRuleSpecController(kernel *netlink.Observer) controller.Controller {
	return &specController[network.RoutingRuleSpecSpec]{
		declared: specsOf[network.RoutingRuleSpecSpec]("network.RoutingRuleSpecController"), kind: network.ConditionRule, kernel: kernel, what: netlink.WatchLinks | netlink.WatchRules, touches: netlink.WatchRules, tries: tries{},
		planner: &rulePlanner{set: map[string][]netlink.Rule{}},
	}
}

// rulePlanner has the rules that it set for each spec and has not removed: a spec may change, and rules cannot.
type rulePlanner struct{ set map[string][]netlink.Rule }

// ruleOf returns the rule of a spec.
func ruleOf(s network.RoutingRuleSpecSpec) netlink.Rule {
	return netlink.Rule{
		Family: uint8(s.Family), Priority: s.Priority, Source: s.Src, Destination: s.Dst, InLink: s.IIFName, OutLink: s.OIFName,
		Mark: s.FwMark, Mask: s.FwMask, Action: uint8(s.Action), Table: uint32(s.Table), Protocol: unix.RTPROT_STATIC,
	}
}

// plan adds rules before it removes those that they replace.
func (p *rulePlanner) plan(specs held[network.RoutingRuleSpecSpec], now *netlink.Snapshot) plan {
	out := newPlan()
	before := p.set
	p.set = map[string][]netlink.Rule{}

	there := func(id string) []netlink.Rule {
		return slices.DeleteFunc(slices.Clone(before[id]), func(r netlink.Rule) bool { return !slices.ContainsFunc(now.Rules, sameRule(r)) })
	}

	var needed []netlink.Rule

	for _, s := range ranked(specs.wanted, func(a, b network.RoutingRuleSpecSpec) int { return cmp.Compare(a.Priority, b.Priority) }) {
		want := ruleOf(s.spec)
		needed = append(needed, want)
		p.set[s.id] = there(s.id)

		if slices.ContainsFunc(now.Rules, sameRule(want)) {
			p.note(s.id, want)

			continue
		}

		out.add(s.id, "add rule "+want.String(), func(k netlink.Kernel) error {
			err := k.AddRule(want)
			if err == nil {
				p.note(s.id, want)
			}

			return err
		})
	}

	for _, s := range specs.leaving {
		p.set[s.id] = there(s.id)

		if own := ruleOf(s.spec); slices.ContainsFunc(now.Rules, sameRule(own)) {
			p.note(s.id, own)
		}
	}

	for _, s := range slices.Concat(specs.wanted, specs.leaving) {
		for _, old := range p.set[s.id] {
			if !slices.ContainsFunc(needed, sameRule(old)) {
				out.add(s.id, "remove rule "+old.String(), func(k netlink.Kernel) error { return k.DeleteRule(old) })
			}
		}
	}

	return out
}

// note records a rule that is set for a spec.
func (p *rulePlanner) note(id string, r netlink.Rule) {
	if !slices.ContainsFunc(p.set[id], sameRule(r)) {
		p.set[id] = append(p.set[id], r)
	}
}

// sameRule compares all but the program that created a rule.
func sameRule(r netlink.Rule) func(netlink.Rule) bool {
	return func(o netlink.Rule) bool {
		o.Protocol = r.Protocol

		return o == r
	}
}
