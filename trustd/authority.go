// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Authority is what the signer needs at one moment.
type Authority struct {
	// CA signs, and Bundle has all authorities that nodes are to accept, PEM.
	CA     *pki.CA
	Bundle []byte
	// Chain has the bridges to other authorities, which servers send after their certificates, PEM.
	Chain []byte
	// Token is the machine token that a caller must have.
	Token string
	// Reserved are the names and addresses of the control plane.
	Reserved Reserved
	// Nodes of the cluster, or its members until the Nodes are known.
	Nodes Nodes
}

// ReadAuthority reads the authority, nil until trustd has its certificate.
func ReadAuthority(ctx context.Context, st state.Reader) (*Authority, error) {
	view, err := ReadView(ctx, st)
	if err != nil || view == nil {
		return nil, err
	}

	root, err := typed.Find[secrets.OSRootSpec](ctx, st, "", secrets.OSRootID)
	if err != nil || root == nil {
		return nil, err
	}

	ca, err := pki.ParseCA(root.TypedSpec().IssuingCA.Crt, root.TypedSpec().IssuingCA.Key)
	if err != nil {
		return nil, fmt.Errorf("machine.ca: %w", err)
	}

	issuer, err := pki.ParseAuthority(ca.PEM.Crt)
	if err != nil {
		return nil, fmt.Errorf("machine.ca: %w", err)
	}

	a := &Authority{
		CA: ca, Chain: issuer.Chain(), Bundle: secrets.JoinCerts(root.TypedSpec().AcceptedCAs), Token: root.TypedSpec().Token, Reserved: newReserved(),
	}

	declared := root.TypedSpec().CertSANIPs
	isDeclared := func(addr netip.Addr) bool { return slices.Contains(declared, addr) }
	own := view.Server.Leaf

	// This node, with what its configuration adds, and the other control plane nodes.
	a.Reserved.add(own.DNSNames, slices.DeleteFunc(addresses(own.IPAddresses), isDeclared))
	a.Reserved.add([]string{own.Subject.CommonName}, nil)

	endpoints, err := typed.List[k8s.EndpointSpec](ctx, st, "")
	if err != nil {
		return nil, err
	}

	for _, endpoint := range endpoints {
		a.Reserved.add(endpoint.TypedSpec().Hosts, endpoint.TypedSpec().Addresses)
	}

	nodes, announced, err := readNodes(ctx, st)
	if err != nil {
		return nil, err
	}

	for _, node := range nodes {
		if node.ControlPlane {
			a.Reserved.add([]string{node.Name}, node.Addresses)
		}
	}

	a.Nodes = newNodes(nodes)
	a.Nodes.announced = announced
	a.Reserved.declare(declared)

	return a, nil
}

// readNodes returns the Nodes of the cluster. Until they are read from the API server, it returns the members and true: a machine keeps those on its
// disk. Members do not add to Nodes. Any machine of the cluster can announce a member of any name, and could so keep a name from a new machine.
func readNodes(ctx context.Context, st state.Reader) (nodes []Node, announced bool, err error) {
	identities, err := typed.List[k8s.NodeIdentitySpec](ctx, st, "")
	if err != nil {
		return nil, false, err
	}

	for _, r := range identities {
		nodes = append(nodes, Node{Name: r.Metadata().ID(), Addresses: r.TypedSpec().Addresses, ControlPlane: r.TypedSpec().ControlPlane})
	}

	if len(nodes) > 0 {
		return nodes, false, nil
	}

	members, err := typed.List[cluster.MemberSpec](ctx, st, "")
	if err != nil {
		return nil, false, err
	}

	for _, r := range members {
		if m := r.TypedSpec(); r.Metadata().Phase() == resource.PhaseRunning {
			nodes = append(nodes, Node{Name: r.Metadata().ID(), Addresses: m.Addresses, ControlPlane: m.MachineType.IsControlPlane()})
		}
	}

	return nodes, true, nil
}

func addresses(ips []net.IP) []netip.Addr {
	var out []netip.Addr

	for _, ip := range ips {
		if addr, ok := netip.AddrFromSlice(ip); ok {
			out = append(out, addr.Unmap())
		}
	}

	return out
}
