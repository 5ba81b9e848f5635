// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
)

func newImageCommand(s *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "image",
		Aliases: []string{"images"},
		Short:   "Look after the container images of the nodes",
	}

	cmd.AddCommand(
		newImageListCommand(s),
		newImagePullCommand(s),
		newImageRemoveCommand(s),
		newImageImportCommand(s),
		newImageVerifyCommand(s),
		newImageBundleCommand(s),
	)

	return cmd
}

// imageStore is the flag that says which of a node's containerd namespaces an image is in.
type imageStore struct {
	name string
}

// imageStores are the values of --namespace.
var imageStores = map[string]common.ContainerdNamespace{
	"system": common.ContainerdNamespace_NS_SYSTEM,
	"cri":    common.ContainerdNamespace_NS_CRI,
}

func (s *imageStore) flag(cmd *cobra.Command, usual string) {
	cmd.Flags().StringVar(&s.name, "namespace", usual, "whose images: system (the node's own services) or cri (Kubernetes)")
	complete(cmd, "namespace", slices.Sorted(maps.Keys(imageStores))...)
}

func (s *imageStore) instance() (*common.ContainerdInstance, error) {
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
