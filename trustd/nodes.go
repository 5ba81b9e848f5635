// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"net/netip"
	"slices"
	"strings"
)

// Node is a Node of the cluster, as the API server has it.
type Node struct {
	Name         string
	Addresses    []netip.Addr
	ControlPlane bool
}

// Nodes are the Nodes of the cluster, empty until they are read from the API server. A kubelet can write any address to its own
// Node, and cannot change the name. So an address identifies a caller, but does not prove that the Node's other addresses are its
// own.
type Nodes struct {
	// at has the names of the workers that claim an address.
	at map[netip.Addr][]string
	// names reports for each Node whether it is a worker, and labels has the names by their first label.
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
			continue // its addresses are reserved and identify no caller
		}

		for _, addr := range node.Addresses {
			if addr = addr.Unmap().WithZone(""); addr.IsValid() && !addr.IsLoopback() && !slices.Contains(n.at[addr], name) {
				n.at[addr] = append(n.at[addr], name)
			}
		}
	}

	return n
}

// firstLabel returns the first label of a name, and "" for an address.
func firstLabel(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return ""
	}

	label, _, _ := strings.Cut(name, ".")

	return label
}

// called returns the Nodes that a name may mean: the one with exactly this name, else those with the same first label.
func (n Nodes) called(name string) []string {
	name = strings.ToLower(name)
	if _, ok := n.names[name]; ok {
		return []string{name}
	}

	return n.labels[firstLabel(name)]
}

// callers returns the Nodes that may call from an address. A call that was passed on by an address of the control plane is taken
// to be from the Node that the request names, as nothing else identifies it.
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

// own returns the part of a grant that belongs to no other Node, the rest, and the names that belong to the caller's own Node. The
// address that the call comes from is always the caller's. Names and addresses of no Node are granted: the Node may not exist yet,
// or an administrator has added the name.
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
