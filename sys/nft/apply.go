// SPDX-License-Identifier: Apache-2.0

package nft

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
)

// maxElements is how many elements are in one message: the length of their list has 16 bits.
const maxElements = 500

// Apply implements Filter. New sets are created before the rules that name them, in a transaction of their own: the kernel publishes the
// content of a set a moment after the rules of the same transaction, so until then these rules would find nothing in it.
func (k *Kernel) Apply(c Changes) error {
	first, then := c.steps()

	if err := k.transact(first); err != nil {
		return err
	}

	err := k.transact(then)
	if err == nil || len(first.AddSets) == 0 {
		return err
	}

	return errors.Join(err, k.transact(Changes{RemoveSets: first.AddSets}))
}

// transaction collects changes. They are sent together, or not at all.
type transaction struct {
	conn  *nftables.Conn
	table *nftables.Table
}

func (k *Kernel) transact(c Changes) error {
	if c.Empty() {
		return nil
	}

	conn, err := nftables.New(nftables.WithSockOptions(buffers))
	if err != nil {
		return fmt.Errorf("change packet filter: %w", err)
	}

	t := transaction{conn, k.table}

	err = t.add(c)
	if err == nil {
		err = conn.Flush()
	}

	if err != nil {
		return fmt.Errorf("change packet filter: %w", err)
	}

	return nil
}

func (t transaction) add(c Changes) error {
	t.conn.AddTable(t.table) // no change if it exists

	for _, name := range c.FlushChains {
		t.conn.FlushChain(t.chain(name))
	}

	for _, name := range c.RemoveChains {
		t.conn.FlushChain(t.chain(name))
		t.conn.DelChain(t.chain(name))
	}

	if err := t.changeSets(c); err != nil {
		return err
	}

	for _, chain := range c.Chains {
		t.writeChain(chain)
	}

	return nil
}

func (t transaction) chain(name string) *nftables.Chain {
	return &nftables.Chain{Name: name, Table: t.table}
}

func (t transaction) set(name string, kind Kind) *nftables.Set {
	return &nftables.Set{Name: name, Table: t.table, KeyType: types[kind], Interval: kind.intervals()}
}

func (t transaction) changeSets(c Changes) error {
	for _, s := range c.RemoveSets {
		t.conn.DelSet(t.set(s.Name, s.Kind))
	}

	for _, s := range c.AddSets {
		set := t.set(s.Name, s.Kind)
		if err := t.conn.AddSet(set, nil); err != nil {
			return fmt.Errorf("set %s: %w", s.Name, err)
		}

		if err := inParts(set, elements(s.Kind, s.Ranges), t.conn.SetAddElements); err != nil {
			return err
		}
	}

	for _, e := range c.Elements {
		set := t.set(e.Name, e.Kind)
		if err := inParts(set, elements(e.Kind, e.Remove), t.conn.SetDeleteElements); err != nil {
			return err
		}

		if err := inParts(set, elements(e.Kind, e.Add), t.conn.SetAddElements); err != nil {
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

func (t transaction) writeChain(c Chain) {
	hook, priority, policy := nftables.ChainHook(c.Hook), nftables.ChainPriority(c.Priority), nftables.ChainPolicyDrop
	if c.Accept {
		policy = nftables.ChainPolicyAccept
	}

	chain := t.conn.AddChain(&nftables.Chain{
		Name: c.Name, Table: t.table, Type: nftables.ChainType(c.Type), Hooknum: &hook, Priority: &priority, Policy: &policy,
	})

	for _, r := range c.Rules {
		t.conn.AddRule(&nftables.Rule{
			Table: t.table, Chain: chain, Exprs: r.Exprs, UserData: userdata.AppendString(nil, userdata.TypeComment, r.comment()),
		})
	}
}
