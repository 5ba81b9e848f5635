// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
)

// PullImage has the node pull an image and returns its name there.
func PullImage(ctx context.Context, n Node, instance *common.ContainerdInstance, image string) (name string, err error) {
	name = image

	for progress, err := range n.PullImage(ctx, instance, image) {
		if err != nil {
			return "", err
		}

		if pulled := progress.GetName(); pulled != "" {
			name = pulled
		}
	}

	return name, nil
}

// ImageStoreFlag adds the flag that selects the containerd namespace of images.
func ImageStoreFlag(cmd *cobra.Command, into **common.ContainerdInstance, usual string) {
	EnumFlag(cmd, into, "namespace", "", usual, "whose images: system (the node's own services) or cri (Kubernetes)", []Named[*common.ContainerdInstance]{
		{"cri", &common.ContainerdInstance{Driver: common.ContainerDriver_CRI, Namespace: common.ContainerdNamespace_NS_CRI}},
		{"system", &common.ContainerdInstance{Driver: common.ContainerDriver_CONTAINERD, Namespace: common.ContainerdNamespace_NS_SYSTEM}},
	})
}

// ContainerNamespace is the flag that selects the containers of Kubernetes, in place of those of the system.
type ContainerNamespace bool

// Flag adds the flag.
func (n *ContainerNamespace) Flag(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVarP((*bool)(n), "kubernetes", "k", false, usage)
}

// Name returns the selected containerd namespace.
func (n *ContainerNamespace) Name() string {
	if *n {
		return client.KubernetesNamespace
	}

	return client.SystemNamespace
}

// ContainerIDs returns the ids of the containers of a namespace.
func ContainerIDs(ctx context.Context, n Node, namespace string) ([]string, error) {
	containers, err := n.Containers(ctx, namespace)

	return Names(containers, (*machine.ContainerInfo).GetId), err
}

// ServiceIDs returns the ids of the services of the node.
func ServiceIDs(n Node, ctx context.Context) ([]string, error) {
	services, err := n.Services(ctx)

	return Names(services, (*machine.ServiceInfo).GetId), err
}
