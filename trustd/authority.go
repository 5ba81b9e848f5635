// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
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
	// Nodes of the cluster.
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

	identities, err := typed.List[k8s.NodeIdentitySpec](ctx, st, "")
	if err != nil {
		return nil, err
	}

	nodes := make([]Node, 0, len(identities))

	for _, r := range identities {
		node := Node{Name: r.Metadata().ID(), Addresses: r.TypedSpec().Addresses, ControlPlane: r.TypedSpec().ControlPlane}
		nodes = append(nodes, node)

		if node.ControlPlane {
			a.Reserved.add([]string{node.Name}, node.Addresses)
		}
	}

	a.Nodes = newNodes(nodes)
	a.Reserved.declare(declared)

	return a, nil
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
