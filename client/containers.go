// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

// The containerd namespaces of a node.
const (
	// SystemNamespace has the node's own services.
	SystemNamespace = "system"
	// KubernetesNamespace has the pods.
	KubernetesNamespace = "k8s.io"
)

// driver returns the driver for a namespace: those of pods are listed through the kubelet's interface.
func driver(namespace string) common.ContainerDriver {
	if namespace == KubernetesNamespace {
		return common.ContainerDriver_CRI
	}

	return common.ContainerDriver_CONTAINERD
}

// Containers lists the containers of a containerd namespace.
func (c *Client) Containers(ctx context.Context, namespace string) ([]*machine.ContainerInfo, error) {
	return field(ctx, "list containers", c.Machine.Containers, &machine.ContainersRequest{Namespace: namespace, Driver: driver(namespace)}, (*machine.Container).GetContainers)
}

// ContainerStats returns what the containers of a containerd namespace use.
func (c *Client) ContainerStats(ctx context.Context, namespace string) ([]*machine.Stat, error) {
	return field(ctx, "container statistics", c.Machine.Stats, &machine.StatsRequest{Namespace: namespace, Driver: driver(namespace)}, (*machine.Stats).GetStats)
}

// RestartContainer restarts a container, by the id that Containers lists.
func (c *Client) RestartContainer(ctx context.Context, namespace, id string) error {
	return run(ctx, "restart container "+id, c.Machine.Restart, &machine.RestartRequest{Namespace: namespace, Id: id, Driver: driver(namespace)})
}

// LogNames lists the logs that Logs can show.
func (c *Client) LogNames(ctx context.Context) ([]string, error) {
	return field(ctx, "list logs", c.Machine.LogsContainers, &emptypb.Empty{}, (*machine.LogsContainer).GetIds)
}
