// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Node is a Node of the cluster. All but its name and its role is what its kubelet claims.
type Node struct {
	Addresses    []netip.Addr
	Names        []string
	ControlPlane bool
}

// Cluster is what a request is checked against.
type Cluster struct {
	// Nodes by name.
	Nodes map[string]Node
	// Names and Addresses are those of the API servers.
	Names     []string
	Addresses []netip.Addr
	// Domain of Services.
	Domain string
}

// allows returns nil if all names and addresses belong to that Node and to no other.
func (c Cluster) allows(name string, names []string, addresses []net.IP) error {
	node, ok := c.Nodes[name]
	if !ok {
		return fmt.Errorf("there is no Node %s", name)
	}

	for _, wanted := range names {
		if err := c.allowsName(name, node, wanted); err != nil {
			return err
		}
	}

	for _, ip := range addresses {
		if err := c.allowsAddress(name, node, ip); err != nil {
			return err
		}
	}

	return nil
}

func (c Cluster) allowsName(name string, node Node, wanted string) error {
	own := strings.EqualFold(wanted, name)
	is := func(other string) bool { return strings.EqualFold(other, wanted) }

	_, notAddress := netip.ParseAddr(wanted)

	switch {
	case !isName(wanted) || notAddress == nil:
		return fmt.Errorf("%q is not the name of a host", wanted)
	case !own && !slices.ContainsFunc(node.Names, is):
		return fmt.Errorf("the name %s is not one of Node %s", wanted, name)
	case strings.EqualFold(wanted, "localhost"):
		return fmt.Errorf("the name %s belongs to every node", wanted)
	case !node.ControlPlane && slices.ContainsFunc(c.Names, is):
		return fmt.Errorf("the name %s is one of the API server's, and Node %s is not a control plane node", wanted, name)
	case !node.ControlPlane && c.ofServices(wanted):
		return fmt.Errorf("the name %s may be a Service's", wanted)
	}

	// The claims of other Nodes do not take a Node's own name from it.
	return c.unique("name", wanted, name, func(other string, says Node) bool {
		return is(other) || !own && node.heeds(says) && slices.ContainsFunc(says.Names, is)
	})
}

// unique returns an error if a name or address belongs to another Node too.
func (c Cluster) unique(kind, wanted, name string, is func(other string, says Node) bool) error {
	for _, other := range slices.Sorted(maps.Keys(c.Nodes)) {
		if other != name && is(other, c.Nodes[other]) {
			return fmt.Errorf("the %s %s is also one of Node %s", kind, wanted, other)
		}
	}

	return nil
}

// heeds reports whether the claims of another Node count: those of workers do not count against the control plane.
func (n Node) heeds(other Node) bool { return other.ControlPlane || !n.ControlPlane }

// ofServices reports whether the name may be a Service's in the cluster's DNS.
func (c Cluster) ofServices(name string) bool {
	name = strings.ToLower(name)

	return strings.HasSuffix(name, ".svc") || c.Domain != "" && strings.HasSuffix(name, "."+strings.ToLower(c.Domain))
}

func (c Cluster) allowsAddress(name string, node Node, ip net.IP) error {
	wanted, ok := netip.AddrFromSlice(ip)
	wanted = wanted.Unmap()

	switch {
	case !ok || wanted.IsUnspecified() || wanted.IsLoopback() || wanted.IsMulticast() || wanted.IsLinkLocalUnicast():
		return fmt.Errorf("the address %s cannot belong to one Node only", ip)
	case !slices.Contains(node.Addresses, wanted):
		return fmt.Errorf("the address %s is not one of Node %s", wanted, name)
	case !node.ControlPlane && slices.Contains(c.Addresses, wanted):
		return fmt.Errorf("the address %s is one of the API server's, and Node %s is not a control plane node", wanted, name)
	}

	return c.unique("address", wanted.String(), name, func(_ string, says Node) bool {
		return node.heeds(says) && slices.Contains(says.Addresses, wanted)
	})
}
