// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
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

// ImageStore is the flag that says which of a node's containerd namespaces an image is in.
type ImageStore struct {
	name string
}

// imageStores are the values of --namespace.
var imageStores = map[string]common.ContainerdNamespace{
	"system": common.ContainerdNamespace_NS_SYSTEM,
	"cri":    common.ContainerdNamespace_NS_CRI,
}

// Flag adds the flag, with its default value.
func (s *ImageStore) Flag(cmd *cobra.Command, usual string) {
	cmd.Flags().StringVar(&s.name, "namespace", usual, "whose images: system (the node's own services) or cri (Kubernetes)")
	Complete(cmd, "namespace", slices.Sorted(maps.Keys(imageStores))...)
}

// Instance is the containerd of the flag, as requests name it.
func (s *ImageStore) Instance() (*common.ContainerdInstance, error) {
	namespace, known := imageStores[s.name]
	if !known {
		return nil, fmt.Errorf("--namespace %q is unknown: want %s", s.name, strings.Join(slices.Sorted(maps.Keys(imageStores)), " or "))
	}

	instance := &common.ContainerdInstance{Driver: common.ContainerDriver_CONTAINERD, Namespace: namespace}
	if namespace == common.ContainerdNamespace_NS_CRI {
		instance.Driver = common.ContainerDriver_CRI
	}

	return instance, nil
}

// ContainerNamespace is the flag that says of which containers a command speaks.
type ContainerNamespace struct {
	kubernetes bool
}

// Flag adds the flag.
func (n *ContainerNamespace) Flag(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVarP(&n.kubernetes, "kubernetes", "k", false, usage)
}

// Name is the containerd namespace that the flag says.
func (n *ContainerNamespace) Name() string {
	if n.kubernetes {
		return client.KubernetesNamespace
	}

	return client.SystemNamespace
}

// ContainerIDs are the containers of a namespace.
func ContainerIDs(ctx context.Context, n Node, namespace string) ([]string, error) {
	containers, err := n.Containers(ctx, namespace)

	var ids []string
	for _, container := range containers {
		ids = append(ids, container.GetId())
	}

	return ids, err
}

// ServiceIDs are the services that the node has.
func ServiceIDs(n Node, ctx context.Context) ([]string, error) {
	services, err := n.Services(ctx)

	var ids []string
	for _, service := range services {
		ids = append(ids, service.GetId())
	}

	return ids, err
}
