// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/health"
	"github.com/seed-59268b81/talos/kube"
)

// healthCheck runs the checks of a cluster on this computer. It reads every machine through the node's endpoint, and the Kubernetes API
// directly.
type healthCheck struct {
	node   session.Node // a control plane node
	info   *cluster.ClusterInfo
	source health.Source
	kube   *kube.Client
}

func (h *healthCheck) run(ctx context.Context, wait time.Duration, progress func(line string) error) error {
	if err := health.Register(); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()

	defer func() {
		if h.kube != nil {
			h.kube.Close()
		}
	}()

	h.source = health.Source{
		Etcd: etcdMembers{h.node}, Kubernetes: health.KubernetesAPI{Get: h.get},
		ControlPlaneNodes: h.info.GetControlPlaneNodes(), WorkerNodes: h.info.GetWorkerNodes(),
	}
	checks := h.source.Checks()

	if named := slices.Concat(h.info.GetControlPlaneNodes(), h.info.GetWorkerNodes()); len(named) > 0 {
		h.take(h.info.GetControlPlaneNodes(), h.info.GetWorkerNodes())
	} else {
		checks = slices.Insert(checks, 0, health.Check{
			Name: "nodes to be discovered", Try: "name them: --control-plane-nodes, --worker-nodes", Run: h.discover,
		})
	}

	return health.Wait(ctx, h.node.Name, checks, progress)
}

// discover sets the machines to the members of the cluster, or, where the node knows none but itself, to the nodes of Kubernetes.
func (h *healthCheck) discover(ctx context.Context) error {
	controlPlanes, workers, err := health.Members(ctx, nodeState{h.node, remote.New(h.node.Conn())})
	if err != nil {
		return err
	}

	if len(controlPlanes)+len(workers) > 1 {
		h.take(controlPlanes, workers)

		return nil
	}

	nodes, err := h.source.Kubernetes.Nodes(ctx)
	if err != nil {
		return err
	}

	controlPlanes, workers = nil, nil

	for _, n := range nodes {
		i := slices.IndexFunc(n.Addresses, func(a string) bool { return net.ParseIP(a) != nil })

		switch {
		case i < 0:
			return fmt.Errorf("node %s has no address yet", n.Name)
		case n.ControlPlane:
			controlPlanes = append(controlPlanes, n.Addresses[i])
		default:
			workers = append(workers, n.Addresses[i])
		}
	}

	h.take(controlPlanes, workers)

	return nil
}

// take sets the machines to check by their addresses. Without a control plane node, the node itself is one.
func (h *healthCheck) take(controlPlanes, workers []string) {
	if len(controlPlanes) == 0 {
		controlPlanes = []string{h.node.Name}
	}

	h.source.Machines = nil

	for i, name := range slices.Concat(controlPlanes, workers) {
		n := h.node.At(name)

		h.source.Machines = append(h.source.Machines, health.Machine{
			Name: name, ControlPlane: i < len(controlPlanes), State: nodeState{n, remote.New(n.Conn())},
			Memory: func(ctx context.Context) (uint64, error) {
				info, err := n.Memory(n.Forward(ctx))

				return info.GetMemtotal() << 10, err
			},
		})
	}
}

// get reads from the Kubernetes API, as health.KubernetesAPI needs it.
func (h *healthCheck) get(ctx context.Context, path string, into any) (found bool, err error) {
	if h.kube == nil {
		if h.kube, err = h.node.Kubernetes(h.node.Forward(ctx), h.info.GetForceEndpoint()); err != nil {
			return false, err
		}
	}

	return h.kube.Find(ctx, path, into)
}

// nodeState reads the resources of a node.
type nodeState struct {
	node  session.Node
	state *remote.State
}

// Get implements state.Reader.
func (s nodeState) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	return s.state.Get(s.node.Forward(ctx), ptr, opts...)
}

// List implements state.Reader.
func (s nodeState) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	return s.state.List(s.node.Forward(ctx), kind, opts...)
}

// etcdMembers asks etcd members through the machines that they run on.
type etcdMembers struct{ node session.Node }

// Members implements health.Etcd.
func (e etcdMembers) Members(ctx context.Context, endpoint string) ([]health.Member, error) {
	n := e.node

	if endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil {
			return nil, fmt.Errorf("client URL of an etcd member: %w", err)
		}

		n = n.At(u.Hostname())
	}

	answer, err := n.EtcdMembers(n.Forward(ctx), true)
	if err != nil {
		return nil, err
	}

	var members []health.Member

	for _, m := range answer {
		members = append(members, health.Member{
			ID: m.GetId(), Name: m.GetHostname(), PeerURLs: m.GetPeerUrls(), ClientURLs: m.GetClientUrls(), Learner: m.GetIsLearner(),
		})
	}

	return members, nil
}
