// SPDX-License-Identifier: Apache-2.0

// Package nfttest is a packet filter in memory, for tests. Like the kernel it refuses what does not fit together: changes of what does not
// exist, a set that rules still name, rules that name a set that does not exist.
package nfttest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/nft"
)

// Filter is a packet filter in memory. The zero value is empty.
type Filter struct {
	mu      sync.Mutex
	table   nft.Table
	err     error
	absent  bool
	applied int
	reads   int
}

var _ nft.Filter = (*Filter)(nil)

// Refuse makes Apply return an error; nil ends that.
func (f *Filter) Refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.err = err
}

// Remove takes the packet filter away, as in a kernel without it; false brings it back.
func (f *Filter) Remove(absent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.absent = absent
}

// Reads returns how often Read was called.
func (f *Filter) Reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.reads
}

// Applied returns how many transactions changed something.
func (f *Filter) Applied() int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.applied
}

// Read implements nft.Filter.
func (f *Filter) Read() (nft.Table, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.reads++

	if f.absent {
		return nft.Table{}, nft.ErrAbsent
	}

	return nft.Table{Chains: slices.Clone(f.table.Chains), Sets: slices.Clone(f.table.Sets)}, nil
}

// Apply implements nft.Filter.
func (f *Filter) Apply(c nft.Changes) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.err != nil || c.Empty() {
		return f.err
	}

	t := nft.Table{Chains: slices.Clone(f.table.Chains), Sets: slices.Clone(f.table.Sets)}

	for _, step := range []func(*nft.Table, nft.Changes) error{chains, sets, elements, write, references} {
		if err := step(&t, c); err != nil {
			return err
		}
	}

	f.table = t
	f.applied++

	return nil
}

func chains(t *nft.Table, c nft.Changes) error {
	for _, name := range slices.Concat(c.RemoveChains, c.FlushChains) {
		i := chainIndex(t, name)
		if i < 0 {
			return fmt.Errorf("chain %s: %w", name, unix.ENOENT)
		}

		t.Chains[i].Rules = nil
	}

	t.Chains = slices.DeleteFunc(t.Chains, func(chain nft.Chain) bool { return slices.Contains(c.RemoveChains, chain.Name) })

	return nil
}

func sets(t *nft.Table, c nft.Changes) error {
	for _, s := range c.RemoveSets {
		if i := setIndex(t, s.Name); i < 0 {
			return fmt.Errorf("set %s: %w", s.Name, unix.ENOENT)
		}

		if named(t, s.Name) {
			return fmt.Errorf("set %s: %w", s.Name, unix.EBUSY)
		}

		t.Sets = slices.Delete(t.Sets, setIndex(t, s.Name), setIndex(t, s.Name)+1)
	}

	for _, s := range c.AddSets {
		if setIndex(t, s.Name) >= 0 {
			return fmt.Errorf("set %s: %w", s.Name, unix.EEXIST)
		}

		t.Sets = append(t.Sets, s)
	}

	return nil
}

func elements(t *nft.Table, c nft.Changes) error {
	for _, e := range c.Elements {
		i := setIndex(t, e.Name)
		if i < 0 {
			return fmt.Errorf("set %s: %w", e.Name, unix.ENOENT)
		}

		now := slices.Clone(t.Sets[i].Ranges)

		for _, r := range e.Remove {
			at := slices.Index(now, r)
			if at < 0 {
				return fmt.Errorf("element of set %s: %w", e.Name, unix.ENOENT)
			}

			now = slices.Delete(now, at, at+1)
		}

		for _, r := range e.Add {
			if slices.ContainsFunc(now, func(have nft.Range) bool { return have.First <= r.Last && r.First <= have.Last }) {
				return fmt.Errorf("element of set %s: %w", e.Name, unix.EEXIST)
			}

			now = append(now, r)
		}

		t.Sets[i].Ranges = now
	}

	return nil
}

func write(t *nft.Table, c nft.Changes) error {
	for _, chain := range c.Chains {
		i := chainIndex(t, chain.Name)
		if i < 0 {
			t.Chains = append(t.Chains, chain)

			continue
		}

		if len(t.Chains[i].Rules) > 0 {
			return fmt.Errorf("chain %s has rules: %w", chain.Name, unix.EEXIST)
		}

		t.Chains[i] = chain
	}

	return nil
}

// references checks that each set that a rule names exists.
func references(t *nft.Table, _ nft.Changes) error {
	for _, chain := range t.Chains {
		for _, r := range chain.Rules {
			for _, e := range r.Exprs {
				if l, ok := e.(*expr.Lookup); ok && setIndex(t, l.SetName) < 0 {
					return fmt.Errorf("rule %q: set %s: %w", r.Text, l.SetName, unix.ENOENT)
				}
			}
		}
	}

	return nil
}

func named(t *nft.Table, set string) bool {
	return slices.ContainsFunc(t.Chains, func(c nft.Chain) bool {
		return slices.ContainsFunc(c.Rules, func(r nft.Rule) bool {
			return slices.ContainsFunc(r.Exprs, func(e expr.Any) bool {
				l, ok := e.(*expr.Lookup)

				return ok && l.SetName == set
			})
		})
	})
}

func chainIndex(t *nft.Table, name string) int {
	return slices.IndexFunc(t.Chains, func(c nft.Chain) bool { return c.Name == name })
}

func setIndex(t *nft.Table, name string) int {
	return slices.IndexFunc(t.Sets, func(s nft.Set) bool { return s.Name == name })
}
