// SPDX-License-Identifier: Apache-2.0

package nft

import "slices"

// Changes make one table another. They are in the order in which the kernel must get them.
type Changes struct {
	// RemoveChains are chains that are not wanted, or not in this form.
	RemoveChains []string
	// FlushChains are chains that stay, whose rules are written again.
	FlushChains []string
	// RemoveSets are sets that no rule names any more.
	RemoveSets []Set
	// AddSets are new sets.
	AddSets []Set
	// Elements are changes of sets that stay.
	Elements []ElementChange
	// Chains are written, with all rules.
	Chains []Chain
}

// ElementChange changes the content of a set.
type ElementChange struct {
	Name        string
	Kind        Kind
	Remove, Add []Range
}

// Empty reports whether nothing changes.
func (c Changes) Empty() bool {
	return len(c.RemoveChains)+len(c.FlushChains)+len(c.RemoveSets)+len(c.AddSets)+len(c.Elements)+len(c.Chains) == 0
}

// steps splits changes: new sets, then all else. A set that replaces one of its name can only be created with the removal of that.
func (c Changes) steps() (first, then Changes) {
	then = c
	then.AddSets = nil

	for _, s := range c.AddSets {
		if slices.ContainsFunc(c.RemoveSets, func(old Set) bool { return old.Name == s.Name }) {
			then.AddSets = append(then.AddSets, s)
		} else {
			first.AddSets = append(first.AddSets, s)
		}
	}

	return first, then
}

// Diff returns the changes from one table to another.
func Diff(have, want Table) Changes {
	var c Changes

	for _, now := range have.Chains {
		i := slices.IndexFunc(want.Chains, func(w Chain) bool { return w.Name == now.Name })
		if i < 0 || !now.sameHook(want.Chains[i]) {
			c.RemoveChains = append(c.RemoveChains, now.Name)
		}
	}

	for _, w := range want.Chains {
		i := slices.IndexFunc(have.Chains, func(now Chain) bool { return w.Name == now.Name })

		switch {
		case i >= 0 && have.Chains[i].same(w):
			continue
		case i >= 0 && have.Chains[i].sameHook(w):
			c.FlushChains = append(c.FlushChains, w.Name)
		}

		c.Chains = append(c.Chains, w)
	}

	c.sets(have.Sets, want.Sets)

	return c
}

// sets compares sets. The kind is a part of what a set is: another kind is another set.
func (c *Changes) sets(have, want []Set) {
	for _, now := range have {
		if find(want, now) == nil {
			c.RemoveSets = append(c.RemoveSets, now)
		}
	}

	for _, w := range want {
		now := find(have, w)
		if now == nil {
			c.AddSets = append(c.AddSets, w)

			continue
		}

		change := ElementChange{Name: w.Name, Kind: w.Kind, Remove: without(now.Ranges, w.Ranges), Add: without(w.Ranges, now.Ranges)}
		if len(change.Remove)+len(change.Add) > 0 {
			c.Elements = append(c.Elements, change)
		}
	}
}

func find(sets []Set, s Set) *Set {
	i := slices.IndexFunc(sets, func(other Set) bool { return other.Name == s.Name && other.Kind == s.Kind })
	if i < 0 {
		return nil
	}

	return &sets[i]
}

// without returns the ranges that are not among others.
func without(ranges, others []Range) []Range {
	among := make(map[Range]bool, len(others))
	for _, r := range others {
		among[r] = true
	}

	var out []Range

	for _, r := range ranges {
		if !among[r] {
			out = append(out, r)
		}
	}

	return out
}

// sameHook reports whether a chain can become another without being removed: the kernel changes only its policy and its rules.
func (c Chain) sameHook(other Chain) bool {
	return c.Type == other.Type && c.Hook == other.Hook && c.Priority == other.Priority
}

func (c Chain) same(other Chain) bool {
	return c.sameHook(other) && c.Accept == other.Accept &&
		slices.EqualFunc(c.Rules, other.Rules, func(a, b Rule) bool { return a.comment() == b.comment() })
}
