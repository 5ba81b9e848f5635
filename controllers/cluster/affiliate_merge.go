// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
)

// affiliateMergeController makes one affiliate of what the sources say about each machine. About this machine none of them says anything new.
func affiliateMergeController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "cluster.AffiliateMergeController",
		Reads: []controller.Input{
			controller.In[cluster.AffiliateSpec](controller.Weak, cluster.RawNamespace),
			controller.In[cluster.IdentitySpec](controller.Weak, "", cluster.LocalIdentityID),
		},
		Writes:  []controller.Output{controller.Out[cluster.AffiliateSpec](controller.Shared, cluster.NamespaceName)},
		Cleanup: []resource.Kind{resource.KindOf[cluster.AffiliateSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var identity cluster.IdentitySpec

			if f := typed.Read(ctx, rt, cluster.LocalIdentityID, &identity); f.Err != nil || !f.OK {
				return f.Err
			}

			raw, err := typed.List[cluster.AffiliateSpec](ctx, rt, cluster.RawNamespace)
			if err != nil {
				return err
			}

			said := map[string][]statement{}

			for _, r := range raw {
				if spec := r.TypedSpec(); spec.NodeID != identity.NodeID && r.Metadata().Phase() == resource.PhaseRunning {
					said[spec.NodeID] = append(said[spec.NodeID], statement{r.Metadata().ID(), *spec})
				}
			}

			for id, statements := range said {
				if err := typed.Set(ctx, rt, "", id, merged(statements)); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// statement is what a source says about a machine.
type statement struct {
	id   string
	spec cluster.AffiliateSpec
}

// rank orders the sources that say the same thing, the best first.
func (s statement) rank() int {
	switch {
	case strings.HasPrefix(s.id, cluster.RawService):
		return 0
	case strings.HasPrefix(s.id, cluster.RawKubernetes):
		return 1
	default:
		return 2
	}
}

// merged returns what is known about a machine. The newest announcement counts alone. Others only add what it does not say, or, if none of them
// has a revision, addresses: those are of machines with other software.
func merged(statements []statement) cluster.AffiliateSpec {
	slices.SortFunc(statements, func(a, b statement) int {
		return cmp.Or(cmp.Compare(b.spec.Revision, a.spec.Revision), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.id, b.id))
	})

	out := statements[0].spec
	out.Addresses = slices.Clip(out.Addresses)

	for _, s := range statements[1:] {
		more := s.spec

		out.Hostname = cmp.Or(out.Hostname, more.Hostname)
		out.Nodename = cmp.Or(out.Nodename, more.Nodename)
		out.OperatingSystem = cmp.Or(out.OperatingSystem, more.OperatingSystem)

		if out.Revision != 0 {
			continue
		}

		if out.MachineType == config.TypeUnknown {
			out.MachineType = more.MachineType
		}

		if out.ControlPlane == nil {
			out.ControlPlane = more.ControlPlane
		}

		if out.KubeSpan == nil {
			out.KubeSpan = more.KubeSpan
		}

		for _, a := range more.Addresses {
			if !slices.Contains(out.Addresses, a) {
				out.Addresses = append(out.Addresses, a)
			}
		}
	}

	return out
}
