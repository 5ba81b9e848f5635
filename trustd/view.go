// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

var (
	errNotReady = errors.New("trustd has no certificate yet: try again in some seconds")
	errToken    = errors.New("the machine token is not the one of this cluster: compare machine.token of both configurations")
)

// View is what trustd knows at one moment; a value that is replaced as a whole.
type View struct {
	// Server certificate of trustd itself.
	Server *tls.Certificate
	// CA that signs, and Bundle of all that nodes shall accept, PEM.
	CA     *pki.CA
	Bundle []byte
	// Token that a caller must have.
	Token string
	// Reserved for the control plane.
	Reserved Reserved
	// Nodes of the cluster.
	Nodes Nodes
}

// tls returns the server's configuration for one connection. Callers have no certificate: they come for one.
func (v *View) tls() (*tls.Config, error) {
	if v == nil {
		return nil, errNotReady
	}

	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{*v.Server},
		SessionTicketsDisabled: true,
	}, nil
}

// Kinds are the resources that trustd reads, and all that its socket has to show.
func Kinds() []resource.Kind {
	return []resource.Kind{
		resource.KindOf[secrets.TrustdCertsSpec](""),
		resource.KindOf[secrets.OSRootSpec](""),
		resource.KindOf[k8s.EndpointSpec](""),
		resource.KindOf[k8s.NodeIdentitySpec](""),
	}
}

// ReadView puts a view together; nil until there is something to serve with.
func ReadView(ctx context.Context, st state.Reader) (*View, error) {
	certs, err := typed.Find[secrets.TrustdCertsSpec](ctx, st, "", secrets.TrustdID)
	if err != nil || certs == nil {
		return nil, err
	}

	root, err := typed.Find[secrets.OSRootSpec](ctx, st, "", secrets.OSRootID)
	if err != nil || root == nil {
		return nil, err
	}

	server, err := pki.Pair{Crt: certs.TypedSpec().Server.Crt, Key: certs.TypedSpec().Server.Key}.TLS()
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}

	ca, err := pki.ParseCA(root.TypedSpec().IssuingCA.Crt, root.TypedSpec().IssuingCA.Key)
	if err != nil {
		return nil, fmt.Errorf("machine.ca: %w", err)
	}

	view := &View{
		Server: &server, CA: ca,
		Bundle: secrets.JoinCerts(root.TypedSpec().AcceptedCAs), Token: root.TypedSpec().Token,
		Reserved: newReserved(),
	}

	declared := root.TypedSpec().CertSANIPs
	isDeclared := func(addr netip.Addr) bool { return slices.Contains(declared, addr) }

	// This node, with whatever the configuration adds, and the others of the control plane.
	view.Reserved.add(server.Leaf.DNSNames, slices.DeleteFunc(addresses(server.Leaf.IPAddresses), isDeclared))
	view.Reserved.add([]string{server.Leaf.Subject.CommonName}, nil)

	endpoints, err := typed.List[k8s.EndpointSpec](ctx, st, "")
	if err != nil {
		return nil, err
	}

	for _, endpoint := range endpoints {
		view.Reserved.add(endpoint.TypedSpec().Hosts, endpoint.TypedSpec().Addresses)
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
			view.Reserved.add([]string{node.Name}, node.Addresses)
		}
	}

	view.Nodes = newNodes(nodes)
	view.Reserved.declare(declared)

	return view, nil
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
