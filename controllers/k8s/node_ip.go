// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// nodeIPController chooses the addresses that the kubelet registers with, at most one of each family.
func nodeIPController() controller.Controller {
	var (
		rules     k8s.NodeIPConfigSpec
		addresses network.NodeAddressSpec
	)

	return frominputs.Controller[k8s.NodeIPSpec]("k8s.NodeIPController", controller.Exclusive, frominputs.List{
		frominputs.Of(k8s.NodeIPID, &rules),
		frominputs.Of(ownAddresses, &addresses).Optional(),
	}, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		ips, err := nodeIPs(rules, addresses.IPs())
		if err != nil {
			return err
		}

		if len(ips) == 0 {
			if len(addresses.Addresses) > 0 {
				log.WarnContext(ctx, "no address of this node is valid for the kubelet: check machine.kubelet.nodeIP.validSubnets",
					"addresses", addresses.Addresses, "validSubnets", rules.ValidSubnets)
			}

			// A kubelet that runs keeps its addresses.
			return controller.ErrSkip
		}

		return typed.Set(ctx, rt, "", k8s.NodeIPID, k8s.NodeIPSpec{Addresses: ips})
	})
}

// nodeIPs returns the first address of each family that the rules allow.
func nodeIPs(rules k8s.NodeIPConfigSpec, addresses []netip.Addr) ([]netip.Addr, error) {
	valid, err := parsePrefixes(rules.ValidSubnets)
	if err != nil {
		return nil, err
	}

	excluded, err := parsePrefixes(rules.ExcludeSubnets)
	if err != nil {
		return nil, err
	}

	var out []netip.Addr

	for _, addr := range addresses {
		within := func(p netip.Prefix) bool { return p.Contains(addr) }
		sameFamily := func(o netip.Addr) bool { return o.Is4() == addr.Is4() }

		if len(valid) > 0 && !slices.ContainsFunc(valid, within) || slices.ContainsFunc(excluded, within) ||
			slices.ContainsFunc(out, sameFamily) {
			continue
		}

		out = append(out, addr)
	}

	return out, nil
}

func parsePrefixes(texts []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(texts))

	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("node IP rules: %w", err)
		}

		out = append(out, p)
	}

	return out, nil
}
