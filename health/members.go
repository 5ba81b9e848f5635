// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// Members returns the addresses of the members of the cluster that a machine knows, the first one of each. Both lists are empty where discovery
// is off.
func Members(ctx context.Context, r state.Reader) (controlPlanes, workers []string, err error) {
	all, err := typed.List[cluster.MemberSpec](ctx, r, "")
	if err != nil {
		return nil, nil, err
	}

	for _, m := range all {
		switch spec := m.TypedSpec(); {
		case len(spec.Addresses) == 0:
		case spec.MachineType.IsControlPlane():
			controlPlanes = append(controlPlanes, spec.Addresses[0].String())
		default:
			workers = append(workers, spec.Addresses[0].String())
		}
	}

	return controlPlanes, workers, nil
}

// expected returns the addresses of all machines that must have a Node: those that the caller named, or otherwise the members of the cluster
// that a control plane knows.
func (s *Source) expected(ctx context.Context) ([]string, error) {
	if len(s.ControlPlaneNodes)+len(s.WorkerNodes) > 0 {
		return append(append([]string(nil), s.ControlPlaneNodes...), s.WorkerNodes...), nil
	}

	for _, m := range s.Machines {
		if m.ControlPlane {
			controlPlanes, workers, err := Members(ctx, m.State)

			return append(controlPlanes, workers...), err
		}
	}

	return nil, nil
}
