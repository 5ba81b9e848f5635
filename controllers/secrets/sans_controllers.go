// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// nodeAddresses is the set of addresses that go into certificates. It accumulates over the boot, so that an address that comes and goes
// does not replace certificates each time. Addresses of pods and services are not in it.
var nodeAddresses = network.FilteredNodeAddressID(network.NodeAddressAccumulativeID, network.NodeAddressFilterNoK8s)

// sansController builds one CertSANs resource from the node's names and addresses and a root.
func sansController[R resource.Spec](name, rootID, id string, build func(root R, h host, addrs []netip.Addr) secrets.CertSANSpec) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads:          append(nodeInputs(), controller.In[R](controller.Weak, "", rootID)),
		Writes:         []controller.Output{controller.Out[secrets.CertSANSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[secrets.CertSANSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var root R
			if f := typed.Read(ctx, rt, rootID, &root); !f.OK {
				return f.Err
			}

			h, addrs, err := nodeNames(ctx, rt)
			if err != nil {
				return err
			}

			if addrs == nil {
				return keep.Outputs[secrets.CertSANSpec](ctx, rt, id)
			}

			return typed.Set(ctx, rt, "", id, build(root, h, addrs))
		},
	}
}

// nodeInputs are the inputs of nodeNames.
func nodeInputs() []controller.Input {
	return []controller.Input{
		controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
		controller.In[network.NodeAddressSpec](controller.Weak, ""),
	}
}

// nodeNames returns the node's name and addresses, or nil addresses while one of the two is unknown. Without a configuration there
// is no filtered set, because the networks of Kubernetes are unknown; then all addresses are used.
func nodeNames(ctx context.Context, r state.Reader) (host, []netip.Addr, error) {
	var hostname network.HostnameStatusSpec
	if f := typed.Read(ctx, r, network.HostnameID, &hostname); !f.OK {
		return host{}, nil, f.Err
	}

	for _, id := range []string{nodeAddresses, network.NodeAddressAccumulativeID} {
		var set network.NodeAddressSpec
		if f := typed.Read(ctx, r, id, &set); f.OK || f.Err != nil {
			return host{hostname.Hostname, hostname.Domainname}, set.IPs(), f.Err
		}
	}

	return host{}, nil, nil
}
