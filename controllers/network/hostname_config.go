// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/network"
)

// HostnameConfigController proposes hostnames: one derived from the identity or the address, that of the kernel's arguments, and that of
// the configuration.
func HostnameConfigController() controller.Controller {
	var first netip.Addr // the name is derived from the first address, and stays when the address changes

	return layerOf("network.HostnameConfigController",
		[]controller.Input{
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressDefaultID),
			controller.In[cluster.IdentitySpec](controller.Weak, "", cluster.LocalIdentityID),
		},
		func(ctx context.Context, rt controller.Runtime, f facts, _ remarks) ([]network.HostnameSpecSpec, error) {
			var (
				identity  cluster.IdentitySpec
				addresses network.NodeAddressSpec
			)

			known, found := typed.Read(ctx, rt, cluster.LocalIdentityID, &identity), typed.Read(ctx, rt, network.NodeAddressDefaultID, &addresses)
			if err := errors.Join(known.Err, found.Err); err != nil {
				return nil, err
			}

			if len(addresses.Addresses) > 0 && !first.IsValid() {
				first = addresses.Addresses[0].Addr()
			}

			return hostnameLayers(f, identity.NodeID, first)
		})
}

func hostnameLayers(f facts, nodeID string, address netip.Addr) ([]network.HostnameSpecSpec, error) {
	var specs []network.HostnameSpecSpec

	if name := automaticHostname(f, nodeID, address); name != "" {
		specs = append(specs, network.HostnameSpecSpec{Hostname: name, Layer: network.LayerDefault})
	}

	if f.cmdline.hostname != "" {
		spec := network.HostnameSpecSpec{Layer: network.LayerCmdline}
		if err := spec.ParseFQDN(f.cmdline.hostname); err != nil {
			return nil, err
		}

		specs = append(specs, spec)
	}

	if name := f.config.Hostname(); name != "" {
		spec := network.HostnameSpecSpec{Layer: network.LayerConfiguration}
		if err := spec.ParseFQDN(name); err != nil {
			return nil, fmt.Errorf("machine configuration: %w", err)
		}

		specs = append(specs, spec)
	}

	return specs, nil
}

// automaticHostname returns the generated name. A stable name waits for the identity, so that no other name is published before it. A
// machine without a configuration has no identity yet and uses its address.
func automaticHostname(f facts, nodeID string, address netip.Addr) string {
	auto := f.config.AutoHostname()
	stable := auto == view.AutoHostnameStable || auto == view.AutoHostnameAny && nodeID != ""

	switch {
	case auto == view.AutoHostnameOff, stable && nodeID == "":
		return ""
	case stable:
		return StableHostname(nodeID)
	case address.IsValid():
		return "talos-" + strings.Trim(strings.NewReplacer(".", "-", ":", "-").Replace(address.WithZone("").String()), "-")
	default:
		return ""
	}
}

// StableHostname returns the name that is derived from a node's id: talos-xxx-xxx.
func StableHostname(nodeID string) string {
	sum := sha256.Sum256([]byte(nodeID))
	text := new(big.Int).SetBytes(sum[:]).Text(36)
	text = strings.Repeat("0", max(0, 6-len(text))) + text

	return "talos-" + text[:3] + "-" + text[3:6]
}
