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

// nodeAddresses are the sets whose addresses go into certificates: accumulated over the boot, so that an address that
// comes and goes does not issue certificates again and again; and without those of pods and services.
var nodeAddresses = network.FilteredNodeAddressID(network.NodeAddressAccumulativeID, network.NodeAddressFilterNoK8s)

// sansController makes one CertSANs resource out of the node's names and addresses and a root.
func sansController[R resource.Spec](name, rootID, id string, build func(root R, h host, addrs []netip.Addr) secrets.CertSANSpec) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads: []controller.Input{
			controller.In[R](controller.Weak, "", rootID),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[network.NodeAddressSpec](controller.Weak, ""),
		},
		Writes:  []controller.Output{controller.Out[secrets.CertSANSpec](controller.Shared)},
		Cleanup: []resource.Kind{resource.KindOf[secrets.CertSANSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			root, err := typed.Find[R](ctx, rt, "", rootID)
			if err != nil || root == nil {
				return err
			}

			hostname, err := typed.Find[network.HostnameStatusSpec](ctx, rt, "", network.HostnameID)
			if err != nil {
				return err
			}

			if hostname == nil {
				return keep.Outputs[secrets.CertSANSpec](ctx, rt, id)
			}

			addrs, err := certificateAddresses(ctx, rt)
			if err != nil {
				return err
			}

			if addrs == nil {
				return keep.Outputs[secrets.CertSANSpec](ctx, rt, id)
			}

			spec := build(*root.TypedSpec(), host{hostname.TypedSpec().Hostname, hostname.TypedSpec().Domainname}, addrs)

			return typed.Set(ctx, rt, "", id, spec)
		},
	}
}

// certificateAddresses are the node's addresses; before a configuration names the networks of Kubernetes there is no
// filtered set, and none is needed.
func certificateAddresses(ctx context.Context, r state.Reader) ([]netip.Addr, error) {
	for _, id := range []string{nodeAddresses, network.NodeAddressAccumulativeID} {
		set, err := typed.Find[network.NodeAddressSpec](ctx, r, "", id)
		if err != nil {
			return nil, err
		}

		if set != nil {
			return set.TypedSpec().IPs(), nil
		}
	}

	return nil, nil
}

func apiCertSANsController() controller.Controller {
	return sansController("secrets.APICertSANsController", secrets.OSRootID, secrets.CertSANAPIID, apiSANs)
}

func kubernetesCertSANsController() controller.Controller {
	return sansController("secrets.KubernetesCertSANsController", secrets.KubernetesRootID, secrets.CertSANKubernetesID, kubernetesSANs)
}

func maintenanceCertSANsController() controller.Controller {
	return sansController("secrets.MaintenanceCertSANsController", secrets.MaintenanceRootID, secrets.CertSANMaintenanceID, maintenanceSANs)
}
