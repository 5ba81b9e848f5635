// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// etcdLifetime is that of the authority: etcd's certificates change with its names, not with time.
const etcdLifetime = pki.CALifetime

// etcdController issues etcd's certificates.
func etcdController() controller.Controller {
	var due renewal

	return &controller.Reconciler{
		ControllerName: "secrets.EtcdController",
		Reads: []controller.Input{
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[network.NodeAddressSpec](controller.Weak, ""),
			timeInput(),
		},
		Writes:  []controller.Output{controller.Out[secrets.EtcdCertsSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[secrets.EtcdCertsSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			root, err := typed.Find[secrets.EtcdRootSpec](ctx, rt, "", secrets.EtcdRootID)
			if err != nil || root == nil {
				return err
			}

			hostname, err := typed.Find[network.HostnameStatusSpec](ctx, rt, "", network.HostnameID)
			if err != nil {
				return err
			}

			if hostname == nil {
				return keep.Outputs[secrets.EtcdCertsSpec](ctx, rt, secrets.EtcdID)
			}

			addrs, err := certificateAddresses(ctx, rt)
			if err != nil {
				return err
			}

			if addrs == nil {
				return keep.Outputs[secrets.EtcdCertsSpec](ctx, rt, secrets.EtcdID)
			}

			ok, err := timeUsable(ctx, rt)
			if err != nil {
				return err
			}

			if !ok {
				return keep.Outputs[secrets.EtcdCertsSpec](ctx, rt, secrets.EtcdID)
			}

			h, now := host{hostname.TypedSpec().Hostname, hostname.TypedSpec().Domainname}, time.Now()

			return typed.Modify(ctx, rt, "", secrets.EtcdID, func(spec *secrets.EtcdCertsSpec) error {
				next, renew, err := etcdCerts(*spec, *root.TypedSpec(), h, addrs, now)
				if err != nil {
					return err
				}

				*spec = next

				due.at(renew, now, rt.QueueReconcile)

				return nil
			})
		},
	}
}

// etcdCerts keeps or issues the four certificates: of the server (also a client: its gateway calls itself), of the
// peer, and those of two clients, this system and the API server.
func etcdCerts(current secrets.EtcdCertsSpec, root secrets.EtcdRootSpec, h host, addrs []netip.Addr, now time.Time) (secrets.EtcdCertsSpec, time.Time, error) {
	ca, err := pki.ParseCA(root.EtcdCA.Crt, root.EtcdCA.Key)
	if err != nil {
		return current, now, fmt.Errorf("cluster.etcd.ca: %w", err)
	}

	var n names

	n.add("localhost", h.name, h.fqdn())
	n.addIPs(addrs...)
	n.addIPs(loopback)

	next, due := current, now.Add(etcdLifetime)

	for _, leaf := range []struct {
		pair *secrets.CertAndKey
		want pki.LeafOptions
	}{
		{&next.Etcd, pki.LeafOptions{CommonName: "etcd", DNSNames: n.dns, IPs: n.ips, Server: true, Client: true}},
		{&next.EtcdPeer, pki.LeafOptions{CommonName: "etcd-peer", DNSNames: n.dns, IPs: n.ips, Server: true, Client: true}},
		{&next.EtcdAdmin, pki.LeafOptions{CommonName: "talos", Client: true}},
		{&next.EtcdAPIServer, pki.LeafOptions{CommonName: "kube-apiserver", Client: true}},
	} {
		leaf.want.TTL = etcdLifetime

		pair, renew, err := keepOrSign(*leaf.pair, ca, leaf.want, now)
		if err != nil {
			return current, now, err
		}

		*leaf.pair, due = pair, earlier(due, renew)
	}

	return next, due, nil
}
