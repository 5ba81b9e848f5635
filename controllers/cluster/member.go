// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// readAffiliates returns this machine's identity, or "" before it has one, and the affiliates.
func readAffiliates(ctx context.Context, r state.Reader) (own string, affiliates []cluster.AffiliateSpec, err error) {
	var identity cluster.IdentitySpec

	if f := typed.Read(ctx, r, cluster.LocalIdentityID, &identity); f.Err != nil {
		return "", nil, f.Err
	}

	all, err := typed.List[cluster.AffiliateSpec](ctx, r, "")

	for _, a := range all {
		if a.Metadata().Phase() == resource.PhaseRunning {
			affiliates = append(affiliates, *a.TypedSpec())
		}
	}

	return identity.NodeID, affiliates, err
}

// fromAffiliates returns a controller that publishes resources, by their ids, that follow from the affiliates and this machine's identity.
func fromAffiliates[S resource.Spec](name string, specs func(own string, affiliates []cluster.AffiliateSpec) map[string]S) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads: []controller.Input{
			controller.In[cluster.AffiliateSpec](controller.Weak, ""),
			controller.In[cluster.IdentitySpec](controller.Weak, "", cluster.LocalIdentityID),
		},
		Writes:  []controller.Output{controller.Out[S](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[S]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			own, affiliates, err := readAffiliates(ctx, rt)
			if err != nil {
				return err
			}

			for id, spec := range specs(own, affiliates) {
				if err := typed.Set(ctx, rt, "", id, spec); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// memberController publishes the affiliates that have a name in Kubernetes, this machine among them.
func memberController() controller.Controller {
	return fromAffiliates("cluster.MemberController", members)
}

// current returns the affiliates without those that another one replaces. A machine that was wiped has a new identity, and its old one is
// announced until it expires: of several machines with one name the newest counts. No other machine takes the name of this one.
func current(own string, affiliates []cluster.AffiliateSpec) []cluster.AffiliateSpec {
	ordered := slices.SortedFunc(slices.Values(affiliates), func(a, b cluster.AffiliateSpec) int {
		return cmp.Or(-cmp.Compare(b2i(a.NodeID == own), b2i(b.NodeID == own)), cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.NodeID, b.NodeID))
	})

	taken := map[string]bool{}

	return slices.DeleteFunc(ordered, func(a cluster.AffiliateSpec) bool {
		replaced := taken[a.Nodename]
		taken[a.Nodename] = a.Nodename != ""

		return replaced
	})
}

// members returns the members by their names.
func members(own string, affiliates []cluster.AffiliateSpec) map[string]cluster.MemberSpec {
	out := map[string]cluster.MemberSpec{}

	for _, a := range current(own, affiliates) {
		if a.Nodename == "" {
			continue
		}

		out[a.Nodename] = cluster.MemberSpec{
			NodeID: a.NodeID, Addresses: a.Addresses, Hostname: a.Hostname, MachineType: a.MachineType,
			OperatingSystem: a.OperatingSystem, ControlPlane: a.ControlPlane,
		}
	}

	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}

	return 0
}

// endpointController publishes the addresses of the control planes among the members, for those that look for an API server, for trustd or for
// etcd before Kubernetes can tell.
func endpointController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "cluster.EndpointController",
		Reads:          []controller.Input{controller.In[cluster.MemberSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[k8s.EndpointSpec](controller.Shared)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			all, err := typed.List[cluster.MemberSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			var spec k8s.EndpointSpec

			for _, m := range all {
				if m.TypedSpec().MachineType.IsControlPlane() && m.Metadata().Phase() == resource.PhaseRunning {
					spec.Addresses = append(spec.Addresses, m.TypedSpec().Addresses...)
				}
			}

			slices.SortFunc(spec.Addresses, netip.Addr.Compare)
			spec.Addresses = slices.Compact(spec.Addresses)

			return typed.Set(ctx, rt, "", k8s.EndpointDiscoveryID, spec)
		},
	}
}
