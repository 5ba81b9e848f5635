// SPDX-License-Identifier: Apache-2.0

package nft

import (
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
)

// Filter is the table of the kernel, or a fake of it.
type Filter interface {
	// Read returns the table. An absent table is empty.
	Read() (Table, error)
	// Apply makes changes. Packets see the rules before or after it, and a change that is refused leaves everything as it was.
	Apply(Changes) error
}

// Kernel is the table of the network namespace in which it was opened.
type Kernel struct {
	conn  *nftables.Conn
	table *nftables.Table
}

var _ Filter = (*Kernel)(nil)

// bufferSize holds the kernel's answers to a large transaction: there is one for each message.
const bufferSize = 8 << 20

func buffers(c *netlink.Conn) error {
	_ = c.SetReadBuffer(bufferSize) // without the permission, small tables still work
	_ = c.SetWriteBuffer(bufferSize)

	return nil
}

// Open connects to the packet filter. The table is of the family inet: its rules see IPv4 and IPv6.
func Open(table string) (*Kernel, error) {
	conn, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(buffers))
	if err != nil {
		return nil, fmt.Errorf("open packet filter: %w", err)
	}

	return &Kernel{conn: conn, table: &nftables.Table{Name: table, Family: nftables.TableFamilyINet}}, nil
}

// Close closes the connection. The table stays.
func (k *Kernel) Close() error { return k.conn.CloseLasting() }

// Read implements Filter.
func (k *Kernel) Read() (Table, error) {
	var t Table

	tables, err := k.conn.ListTablesOfFamily(k.table.Family)
	if err != nil {
		return t, fmt.Errorf("read packet filter: %w", err)
	}

	if !slices.ContainsFunc(tables, func(have *nftables.Table) bool { return have.Name == k.table.Name }) {
		return t, nil
	}

	if t.Chains, err = k.chains(); err != nil {
		return t, err
	}

	t.Sets, err = k.sets()

	return t, err
}

func (k *Kernel) chains() ([]Chain, error) {
	chains, err := k.conn.ListChainsOfTableFamily(k.table.Family)
	if err != nil {
		return nil, fmt.Errorf("read chains: %w", err)
	}

	var out []Chain

	for _, c := range chains {
		if c.Table.Name != k.table.Name {
			continue
		}

		chain := Chain{Name: c.Name, Type: string(c.Type), Accept: c.Policy == nil || *c.Policy == nftables.ChainPolicyAccept}
		if c.Hooknum != nil && c.Priority != nil {
			chain.Hook, chain.Priority = uint32(*c.Hooknum), int32(*c.Priority)
		}

		rules, err := k.conn.GetRules(k.table, c)
		if err != nil {
			return nil, fmt.Errorf("read rules of chain %s: %w", c.Name, err)
		}

		for _, r := range rules {
			text, _ := userdata.GetString(r.UserData, userdata.TypeComment)
			chain.Rules = append(chain.Rules, Rule{Text: text})
		}

		out = append(out, chain)
	}

	return out, nil
}

func (k *Kernel) sets() ([]Set, error) {
	sets, err := k.conn.GetSets(k.table)
	if err != nil {
		return nil, fmt.Errorf("read sets: %w", err)
	}

	var out []Set

	for _, s := range sets {
		if s.Anonymous {
			continue
		}

		var set Set

		for kind, typ := range types {
			if typ.Name == s.KeyType.Name && kind.intervals() == s.Interval {
				set = Set{Name: s.Name, Kind: kind}
			}
		}

		// A set of another program, of a kind that is not used here, has an empty kind: it is removed.
		have, err := k.conn.GetSetElements(s)
		if err != nil {
			return nil, fmt.Errorf("read set %s: %w", s.Name, err)
		}

		set.Name, set.Ranges = s.Name, ranges(set.Kind, have)
		out = append(out, set)
	}

	return out, nil
}
