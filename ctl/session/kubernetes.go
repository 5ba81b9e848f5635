// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// Kubernetes connects to the Kubernetes API with a kubeconfig from the node, which must be a control plane node. An endpoint, if
// there is one, replaces the one of the kubeconfig.
func (n Node) Kubernetes(ctx context.Context, endpoint string) (*kube.Client, error) {
	content, err := n.Kubeconfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}

	config, err := kubeconfig.Parse(content)
	if err != nil {
		return nil, err
	}

	return kube.New(kubeconfig.ForUser(config, endpoint))
}

// MergeKubeconfig merges a kubeconfig into the file at path, and calls renamed for each name that it changes.
func MergeKubeconfig(path string, config *kubeconfig.File, options kubeconfig.Options, renamed func(kubeconfig.Rename)) error {
	into, err := kubeconfig.Read(path)
	if err != nil {
		return err
	}

	renames, err := kubeconfig.Merge(into, config, options)
	if err != nil {
		return fmt.Errorf("merge kubeconfig: %w", err)
	}

	for _, r := range renames {
		renamed(r)
	}

	return kubeconfig.Write(path, into)
}
