// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/version"
)

// routed is the id of the addresses at which other machines reach this one.
var routed = network.FilteredNodeAddressID(network.NodeAddressRoutedID, network.NodeAddressFilterNoK8s)

// etcdVolume is the id of the mount of etcd's data.
const etcdVolume = "etcd-" + block.VolumeEphemeral

// localAffiliateController publishes what this machine tells the others. It stays as it is while the machine does not know its name or its
// addresses, which can be for a moment only.
func localAffiliateController(root string) controller.Controller {
	var (
		cfg       *view.Config
		settings  cluster.ConfigSpec
		identity  cluster.IdentitySpec
		hostname  network.HostnameStatusSpec
		nodename  k8s.NodenameSpec
		addresses network.NodeAddressSpec
		bootstrap etcd.BootstrapRequestSpec
	)

	bootstrapInput := frominputs.Of(etcd.BootstrapID, &bootstrap)

	return frominputs.Controller[cluster.AffiliateSpec]("cluster.LocalAffiliateController", controller.Shared, frominputs.List{
		frominputs.Config(&cfg),
		frominputs.Of(cluster.ConfigID, &settings),
		frominputs.Of(cluster.LocalIdentityID, &identity),
		frominputs.Of(network.HostnameID, &hostname).OrKeep(),
		frominputs.Of(k8s.NodenameID, &nodename).OrKeep(),
		frominputs.Of(routed, &addresses).OrKeep(),
		frominputs.Also(bootstrapInput.Declared),
		// They change when etcd has data, or has it no more.
		frominputs.Also(controller.In[etcd.MemberSpec](controller.Weak, "", etcd.MemberID)),
		frominputs.Also(controller.In[block.VolumeMountStatusSpec](controller.Weak, "", etcdVolume)),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		if !settings.DiscoveryEnabled {
			return nil
		}

		asked := bootstrapInput.Read(ctx, rt)
		if asked.Err != nil {
			return asked.Err
		}

		claim, err := etcdClaim(root, cfg.Type().IsControlPlane(), asked.OK)
		if err != nil {
			return err
		}

		own := localAffiliate(cfg, identity.NodeID, hostname, nodename, addresses.IPs())
		if own.Etcd = claim; len(own.Addresses) == 0 {
			return controller.ErrSkip
		}

		// Of two namespaces with this type, the controller writes into the default one.
		return typed.Set(ctx, rt, "", identity.NodeID, own)
	})
}

func localAffiliate(
	cfg *view.Config, id string, hostname network.HostnameStatusSpec, nodename k8s.NodenameSpec, addresses []netip.Addr,
) cluster.AffiliateSpec {
	own := cluster.AffiliateSpec{
		NodeID: id, Hostname: hostname.FQDN(), Nodename: nodename.Nodename,
		OperatingSystem: fmt.Sprintf("%s (%s)", version.Name, version.Tag), MachineType: config.MachineTypeOf(cfg.Type()),
	}

	// The virtual address moves between machines.
	virtual := cfg.VIPAddresses()

	for _, a := range addresses {
		if !slices.Contains(virtual, a) {
			own.Addresses = append(own.Addresses, a)
		}
	}

	if cfg.Type().IsControlPlane() {
		own.ControlPlane = &cluster.ControlPlane{APIServerPort: cfg.APIServerPort()}
	}

	return own
}
