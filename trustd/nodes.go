// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"net/netip"
	"slices"
	"strings"
)

// Node is one of the cluster, as its API server has it.
type Node struct {
	Name         string
	Addresses    []netip.Addr
	ControlPlane bool
}

// Nodes are those of the cluster; none while the API server has not been asked. A kubelet writes the addresses of its own Node and of no
// other, and cannot choose another's name: so an address says who calls, and never what else is his.
type Nodes struct {
	// at are the workers that say that they have an address.
	at map[netip.Addr][]string
	// names of all Nodes, each with whether it is a worker, and names by their first label.
	names  map[string]bool
	labels map[string][]string
}

func newNodes(list []Node) Nodes {
	n := Nodes{at: map[netip.Addr][]string{}, names: map[string]bool{}, labels: map[string][]string{}}

	for _, node := range list {
		name := strings.ToLower(node.Name)
		n.names[name] = !node.ControlPlane

		if label := firstLabel(name); label != "" {
			n.labels[label] = append(n.labels[label], name)
		}

		if node.ControlPlane {
			continue // its addresses are reserved, and nobody is it by calling from one
		}

		for _, addr := range node.Addresses {
			if addr = addr.Unmap().WithZone(""); addr.IsValid() && !addr.IsLoopback() && !slices.Contains(n.at[addr], name) {
				n.at[addr] = append(n.at[addr], name)
			}
		}
	}

	return n
}

// firstLabel of a name; none of an address.
func firstLabel(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return ""
	}

	label, _, _ := strings.Cut(name, ".")

	return label
}

// called are the Nodes whose name that is: the one that has it, or those that have it in another domain or without one.
func (n Nodes) called(name string) []string {
	name = strings.ToLower(name)
	if _, ok := n.names[name]; ok {
		return []string{name}
	}

	return n.labels[firstLabel(name)]
}

// callers are the Nodes that may call from an address. What comes by an address of the control plane passed through it, and is taken for
// the Node that it says it is: there is nothing else to tell by.
func (n Nodes) callers(r Request, from netip.Addr, passed bool) []string {
	if !passed {
		return n.at[from]
	}

	for _, name := range append([]string{r.CommonName}, r.DNSNames...) {
		if named := n.called(name); len(named) == 1 && n.names[named[0]] {
			return named
		}
	}

	return nil
}

// own returns the part of a grant that is no other Node's, what is another's, and which of the names are those of the caller's own Node. The
// address that the call comes from is the caller's, whatever Node says that it has it. What no Node has, anybody may have: it is of a machine
// whose Node is yet to come, or a name that an administrator gave.
func (n Nodes) own(granted Request, from netip.Addr, passed bool) (own Request, left []string, confirmed map[string]bool) {
	from = from.Unmap().WithZone("")
	callers := n.callers(granted, from, passed)
	confirmed = map[string]bool{}

	mine := func(name string) bool {
		called := n.called(name)
		is := slices.ContainsFunc(called, func(node string) bool { return slices.Contains(callers, node) })

		if is {
			confirmed[strings.ToLower(name)] = true
		}

		return is || len(called) == 0
	}

	own, left = granted.keep(func(addr netip.Addr) bool {
		return addr == from || !slices.ContainsFunc(n.at[addr], func(node string) bool { return !slices.Contains(callers, node) })
	}, mine)

	return own, left, confirmed
}
