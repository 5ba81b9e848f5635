// SPDX-License-Identifier: Apache-2.0

package nft

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Filter is the table of the kernel, or a fake of it.
type Filter interface {
	// Read returns the table. An absent table is empty. Without a packet filter the error is ErrAbsent.
	Read() (Table, error)
	// Apply makes changes. Packets see the rules before or after it, and a change that is refused leaves everything as it was.
	Apply(Changes) error
}

// Kernel is the table of the network namespace of the process.
type Kernel struct{ table *nftables.Table }

var _ Filter = (*Kernel)(nil)

// New returns a table of the kernel. It is of the family inet: its rules see IPv4 and IPv6. Each use of it opens a connection of its own: a
// kernel that gets its packet filter from a module may have none at first.
func New(table string) *Kernel {
	return &Kernel{&nftables.Table{Name: table, Family: nftables.TableFamilyINet}}
}

// ErrAbsent is an error of Read: there is no packet filter, or no permission for it.
var ErrAbsent = errors.New("this kernel has no packet filter (nf_tables), or the machine may not use it")

// absent are the errors of a kernel without a packet filter.
var absent = []error{unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT, unix.EOPNOTSUPP, unix.EINVAL, unix.EPERM}

func readError(err error) error {
	if slices.ContainsFunc(absent, func(e error) bool { return errors.Is(err, e) }) {
		err = fmt.Errorf("%w: %w", ErrAbsent, err)
	}

	return fmt.Errorf("read packet filter: %w", err)
}

// bufferSize holds the kernel's answers to a large transaction: there is one for each message.
const bufferSize = 8 << 20

func buffers(c *netlink.Conn) error {
	_ = c.SetReadBuffer(bufferSize) // without the permission, small tables still work
	_ = c.SetWriteBuffer(bufferSize)

	return nil
}

// Read implements Filter.
func (k *Kernel) Read() (Table, error) {
	var t Table

	conn, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(buffers))
	if err != nil {
		return t, readError(err)
	}
	defer conn.CloseLasting() // only closes the socket

	tables, err := conn.ListTablesOfFamily(k.table.Family)
	if err != nil {
		return t, readError(err)
	}

	if !slices.ContainsFunc(tables, func(have *nftables.Table) bool { return have.Name == k.table.Name }) {
		return t, nil
	}

	if t.Chains, err = k.chains(conn); err != nil {
		return t, err
	}

	t.Sets, err = k.sets(conn)

	return t, err
}

func (k *Kernel) chains(conn *nftables.Conn) ([]Chain, error) {
	chains, err := conn.ListChainsOfTableFamily(k.table.Family)
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

		rules, err := conn.GetRules(k.table, c)
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

func (k *Kernel) sets(conn *nftables.Conn) ([]Set, error) {
	sets, err := conn.GetSets(k.table)
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
		have, err := conn.GetSetElements(s)
		if err != nil {
			return nil, fmt.Errorf("read set %s: %w", s.Name, err)
		}

		set.Name, set.Ranges = s.Name, ranges(set.Kind, have)
		out = append(out, set)
	}

	return out, nil
}
