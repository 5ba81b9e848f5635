// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// podBridge is what podBridgeController remembers: the node's pod subnets, and those that it had before.
type podBridge struct {
	kernel netlink.Kernel
	now    []netip.Prefix
	former []netip.Prefix
}

// podBridgeController removes a bridge that has its address of a pod subnet which the node had before, as it has when it is registered under
// another name. The CNI plugin bridge does not change the address: without the removal no pod would get a network until the next boot
// (https://www.cni.dev/plugins/current/main/bridge). What is left on it are pods of the former Node, which the kubelet stops. The bridges of the
// configuration stay.
func podBridgeController(d *Deps) controller.Controller {
	b := &podBridge{kernel: d.Kernel}

	return &controller.Reconciler{
		ControllerName: "network.PodBridgeController",
		Reads: []controller.Input{
			controller.In[k8s.NodeStatusSpec](controller.Weak, ""),
			controller.In[network.AddressStatusSpec](controller.Weak, network.NamespaceName),
			controller.In[network.LinkSpecSpec](controller.Weak, network.NamespaceName),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			return b.reconcile(ctx, rt, log)
		},
	}
}

func (b *podBridge) reconcile(ctx context.Context, r state.Reader, log *slog.Logger) error {
	nodes, err := typed.List[k8s.NodeStatusSpec](ctx, r, "")
	if err != nil {
		return err
	}

	var now []netip.Prefix // none until Kubernetes has assigned them

	for _, node := range nodes {
		now = append(now, node.TypedSpec().PodCIDRs...)
	}

	if len(now) > 0 {
		b.former = slices.DeleteFunc(append(b.former, b.now...), func(p netip.Prefix) bool { return slices.Contains(now, p) })
		b.now = now
	}

	if len(b.former) == 0 {
		return nil
	}

	links, err := b.kernel.Links()
	if err != nil {
		return err
	}

	addresses, err := b.kernel.Addresses()
	if err != nil {
		return err
	}

	for _, link := range links {
		if link.Kind != "bridge" || !slices.ContainsFunc(addresses, func(a netlink.Address) bool { return a.LinkIndex == link.Index && b.isFormer(a) }) {
			continue
		}

		own, err := typed.Find[network.LinkSpecSpec](ctx, r, network.NamespaceName, link.Name)
		if err != nil {
			return err
		}

		if own != nil {
			continue
		}

		log.Info("a bridge of pods is removed: the node has other pod subnets now", "link", link.Name, "former", b.former, "subnets", b.now)

		if err := b.kernel.DeleteLink(link.Index); err != nil {
			return err
		}
	}

	return nil
}

func (b *podBridge) isFormer(a netlink.Address) bool {
	return slices.ContainsFunc(b.former, func(p netip.Prefix) bool { return p.Masked() == a.Prefix.Masked() })
}
