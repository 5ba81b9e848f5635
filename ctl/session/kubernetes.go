// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// Kubernetes connects to the API of the cluster with a kubeconfig from the node, which has to be a control plane's, at the
// endpoint if there is one.
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
