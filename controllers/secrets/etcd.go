// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// etcdLifetime is that of the authority: etcd's certificates change with its names, not with time.
const etcdLifetime = pki.CALifetime

// etcdController issues etcd's certificates.
func etcdController() controller.Controller {
	return issuer("secrets.EtcdController", secrets.EtcdRootID, secrets.EtcdID,
		func(ctx context.Context, r state.Reader, root secrets.EtcdRootSpec) (issuance[secrets.EtcdCertsSpec], error) {
			h, addrs, err := nodeNames(ctx, r)
			if err != nil || addrs == nil {
				return nil, err
			}

			return func(current secrets.EtcdCertsSpec, now time.Time) (secrets.EtcdCertsSpec, time.Time, error) {
				return etcdCerts(current, root, h, addrs, now)
			}, nil
		}, nodeInputs()...)
}

// etcdCerts keeps or issues the four certificates: of the server (also a client, because its gateway calls itself), of the peer, and of
// two clients, machined and the API server.
func etcdCerts(next secrets.EtcdCertsSpec, root secrets.EtcdRootSpec, h host, addrs []netip.Addr, now time.Time) (secrets.EtcdCertsSpec, time.Time, error) {
	n := ofNode(h, addrs)

	due, err := renew(authority{"cluster.etcd.ca", root.EtcdCA}, etcdLifetime, now,
		leaf{&next.Etcd, pki.LeafOptions{CommonName: "etcd", DNSNames: n.dns, IPs: n.ips, Server: true, Client: true}},
		leaf{&next.EtcdPeer, pki.LeafOptions{CommonName: "etcd-peer", DNSNames: n.dns, IPs: n.ips, Server: true, Client: true}},
		leaf{&next.EtcdAdmin, pki.LeafOptions{CommonName: "talos", Client: true}},
		leaf{&next.EtcdAPIServer, pki.LeafOptions{CommonName: "kube-apiserver", Client: true}})

	return next, due, err
}
