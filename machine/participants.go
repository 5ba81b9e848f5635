// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"cmp"
	"context"
	"slices"
	"time"

	blockctl "github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/controllers/cri"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/logind"
)

// The ids of what has to end before the machine goes down, beside the services.
const (
	evictions     = "evictions"  // of the pods that find a place elsewhere
	podsEnd       = "pods"       // the others, by their kubelet
	containersEnd = "containers" // what is left of them
	volumesEnd    = "volumes"
)

// containerGrace is how long containers have that outlive the kubelet: their pods have had their grace period.
const containerGrace = 5 * time.Second

// participants are what has to end before the machine goes down: the services, which need what they depend on, and what stands
// on a service without being one. All may have files open on the volumes.
func (m *Machine) participants(bus *logind.Bus) func(ctx context.Context) ([]runtime.Participant, <-chan struct{}, error) {
	return func(ctx context.Context) ([]runtime.Participant, <-chan struct{}, error) {
		changed := m.Supervisor.Changes()

		out := []runtime.Participant{{
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
				p.Needs = append(p.Needs, containersEnd)

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

// service is one of the supervisor's.
func (m *Machine) service(svc supervisor.Service) runtime.Participant {
	return runtime.Participant{
		ID: svc.ID, Timeout: cmp.Or(svc.StopTimeout, supervisor.DefaultStopTimeout), Needs: append(slices.Clone(svc.DependsOn), volumesEnd),
		Stop: func(ctx context.Context, _ runtimeres.PowerRequestSpec) error {
			return m.Supervisor.Retire(ctx, svc.ID)
		},
	}
}

// evictions come first: endpoints of pods that are told to leave are removed at once.
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

// pods end by the kubelet, which runs their preStop hooks and gives them their grace period. On a
// control plane the API server, which is one of them, needs etcd.
func pods(bus *logind.Bus, grace time.Duration) runtime.Participant {
	const slack = 10 * time.Second // of a kubelet on a slow machine

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

// podsGrace is the grace period of the kubelet's configuration.
func (m *Machine) podsGrace(ctx context.Context) (time.Duration, error) {
	spec, err := typed.Find[k8sres.KubeletSpecSpec](ctx, m.State, "", k8sres.KubeletID)
	if err != nil || spec == nil {
		return 0, err
	}

	return kubelet.ShutdownGracePeriod(spec.TypedSpec().Config), nil
}

// containers are those of pods that are left when the kubelet has ended: all, if it hung, or the request is forced.
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
