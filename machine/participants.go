// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	blockctl "github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/controllers/cri"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	clusterres "github.com/seed-59268b81/talos/resources/cluster"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/logind"
)

// The ids of participants in a shutdown that are not services.
const (
	evictions     = "evictions"  // of the pods that can run on another node
	podsEnd       = "pods"       // the other pods, ended by the kubelet
	containersEnd = "containers" // containers of pods that are left
	volumesEnd    = "volumes"
	announcement  = "announcement" // of this machine to the others, when it loses its identity
)

// containerGrace is the grace period of containers that outlive the kubelet. Their pods have had their own already.
const containerGrace = 5 * time.Second

// participants returns a function that lists what must end before the machine goes down: the services, and what runs on a
// service. All of them may have files open on the volumes.
func (m *Machine) participants(bus *logind.Bus) func(ctx context.Context) ([]runtime.Participant, <-chan struct{}, error) {
	return func(ctx context.Context) ([]runtime.Participant, <-chan struct{}, error) {
		changed := m.Supervisor.Changes()

		out := []runtime.Participant{m.announcement(), {
			ID: volumesEnd, Timeout: 30 * time.Second,
			Stop: func(ctx context.Context, _ runtimeres.PowerRequestSpec) error {
				return blockctl.StopVolumes(ctx, m.State)
			},
		}}

		for _, svc := range m.Supervisor.Services() {
			if svc.UntilTheEnd {
				continue
			}

			p := m.service(svc)

			switch svc.ID {
			case k8s.KubeletServiceID:
				p.Needs = append(p.Needs, containersEnd, announcement)

				grace, err := m.podsGrace(ctx)
				if err != nil {
					return nil, nil, err
				}

				out = append(out, m.evictions(grace), pods(bus, grace))
			case cri.ServiceID:
				out = append(out, containers())
			}

			out = append(out, p)
		}

		return out, changed, nil
	}
}

// announcement returns the participant that has the discovery services forget a machine that loses its identity.
func (m *Machine) announcement() runtime.Participant {
	const patience = 10 * time.Second

	return runtime.Participant{
		ID: announcement, Timeout: patience, Needs: []string{volumesEnd},
		Stop: func(ctx context.Context, request runtimeres.PowerRequestSpec) error {
			if !request.Forget {
				return nil
			}

			return withdraw(ctx, m.State)
		},
	}
}

// withdraw has the discovery services forget this machine, and returns when no session with one is left.
func withdraw(ctx context.Context, st state.State) error {
	if err := typed.Set(ctx, st, "", runtimeres.MachineResetSignalID, runtimeres.MachineResetSignalSpec{}); err != nil {
		return err
	}

	sources, err := typed.List[clusterres.DiscoverySourceSpec](ctx, st, "")
	if err != nil {
		return err
	}

	for _, s := range sources {
		if _, err := st.WatchFor(ctx, s.Metadata().Pointer(), state.EventTypeIs(state.Destroyed)); err != nil {
			return fmt.Errorf("discovery source %s: %w", s.Metadata().ID(), err)
		}
	}

	return nil
}

// service returns the participant for a service of the supervisor.
func (m *Machine) service(svc supervisor.Service) runtime.Participant {
	return runtime.Participant{
		ID: svc.ID, Timeout: cmp.Or(svc.StopTimeout, supervisor.DefaultStopTimeout), Needs: append(slices.Clone(svc.DependsOn), volumesEnd),
		Stop: func(ctx context.Context, _ runtimeres.PowerRequestSpec) error {
			return m.Supervisor.Retire(ctx, svc.ID)
		},
	}
}

// evictions returns the participant that evicts pods. It comes first: the endpoints of evicted pods are removed at once.
func (m *Machine) evictions(grace time.Duration) runtime.Participant {
	return runtime.Participant{
		ID: evictions, Timeout: grace, Needs: []string{podsEnd, k8s.KubeletServiceID, etcd.ServiceID},
		Stop: func(ctx context.Context, request runtimeres.PowerRequestSpec) error {
			if request.Force {
				return nil
			}

			return k8s.Evict(ctx, m.State, "/")
		},
	}
}

// pods returns the participant that ends pods by the kubelet, which runs their preStop hooks and waits for their grace period.
// On a control plane it needs etcd for the API server, which is one of the pods.
func pods(bus *logind.Bus, grace time.Duration) runtime.Participant {
	const slack = 10 * time.Second // for a kubelet on a slow machine

	return runtime.Participant{
		ID: podsEnd, Timeout: grace + slack, Needs: []string{k8s.KubeletServiceID, etcd.ServiceID},
		Stop: func(ctx context.Context, request runtimeres.PowerRequestSpec) error {
			if request.Force {
				return nil
			}

			return bus.PrepareForShutdown(ctx)
		},
	}
}

// podsGrace returns the grace period in the kubelet's configuration.
func (m *Machine) podsGrace(ctx context.Context) (time.Duration, error) {
	spec, err := typed.Find[k8sres.KubeletSpecSpec](ctx, m.State, "", k8sres.KubeletID)
	if err != nil || spec == nil {
		return 0, err
	}

	return kubelet.ShutdownGracePeriod(spec.TypedSpec().Config), nil
}

// containers returns the participant that ends the containers of pods that are left after the kubelet: all of them if it hung,
// or if the request is forced.
func containers() runtime.Participant {
	return runtime.Participant{
		ID: containersEnd, Timeout: 3 * containerGrace, Needs: []string{cri.ServiceID, volumesEnd},
		Stop: func(ctx context.Context, request runtimeres.PowerRequestSpec) error {
			grace := containerGrace
			if request.Force {
				grace = 0
			}

			return container.EndAll(ctx, container.NamespacePods, grace)
		},
	}
}
