// SPDX-License-Identifier: Apache-2.0

package nft

import (
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
)

// maxElements is how many elements are in one message: the length of their list has 16 bits.
const maxElements = 500

// Apply implements Filter.
func (k *Kernel) Apply(c Changes) error {
	if c.Empty() {
		return nil
	}

	k.conn.AddTable(k.table) // no change if it exists

	for _, name := range c.FlushChains {
		k.conn.FlushChain(k.chain(name))
	}

	for _, name := range c.RemoveChains {
		k.conn.FlushChain(k.chain(name))
		k.conn.DelChain(k.chain(name))
	}

	err := k.changeSets(c)

	for _, chain := range c.Chains {
		k.writeChain(chain)
	}

	if err2 := k.conn.Flush(); err == nil {
		err = err2
	}

	if err != nil {
		return fmt.Errorf("change packet filter: %w", err)
	}

	return nil
}

func (k *Kernel) chain(name string) *nftables.Chain {
	return &nftables.Chain{Name: name, Table: k.table}
}

func (k *Kernel) set(name string, kind Kind) *nftables.Set {
	return &nftables.Set{Name: name, Table: k.table, KeyType: types[kind], Interval: kind.intervals()}
}

func (k *Kernel) changeSets(c Changes) error {
	for _, s := range c.RemoveSets {
		k.conn.DelSet(k.set(s.Name, s.Kind))
	}

	for _, s := range c.AddSets {
		set := k.set(s.Name, s.Kind)
		if err := k.conn.AddSet(set, nil); err != nil {
			return fmt.Errorf("set %s: %w", s.Name, err)
		}

		if err := inParts(set, elements(s.Kind, s.Ranges), k.conn.SetAddElements); err != nil {
			return err
		}
	}

	for _, e := range c.Elements {
		set := k.set(e.Name, e.Kind)
		if err := inParts(set, elements(e.Kind, e.Remove), k.conn.SetDeleteElements); err != nil {
			return err
		}

		if err := inParts(set, elements(e.Kind, e.Add), k.conn.SetAddElements); err != nil {
			return err
		}
	}

	return nil
}

func inParts(set *nftables.Set, elements []nftables.SetElement, change func(*nftables.Set, []nftables.SetElement) error) error {
	for part := range slices.Chunk(elements, maxElements) {
		if err := change(set, part); err != nil {
			return fmt.Errorf("elements of set %s: %w", set.Name, err)
		}
	}

	return nil
}

func (k *Kernel) writeChain(c Chain) {
	hook, priority, policy := nftables.ChainHook(c.Hook), nftables.ChainPriority(c.Priority), nftables.ChainPolicyDrop
	if c.Accept {
		policy = nftables.ChainPolicyAccept
	}

	chain := k.conn.AddChain(&nftables.Chain{
		Name: c.Name, Table: k.table, Type: nftables.ChainType(c.Type), Hooknum: &hook, Priority: &priority, Policy: &policy,
	})

	for _, r := range c.Rules {
		k.conn.AddRule(&nftables.Rule{
			Table: k.table, Chain: chain, Exprs: r.Exprs, UserData: userdata.AppendString(nil, userdata.TypeComment, r.comment()),
		})
	}
}
