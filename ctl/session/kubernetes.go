// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/seed-59268b81/talos/ctl/kubeconfig"
	"github.com/seed-59268b81/talos/ctl/kubernetes"
)

// Kubernetes connects to the API of the cluster with a kubeconfig from the node, which has to be a control plane's, at the
// endpoint if there is one.
func (n Node) Kubernetes(ctx context.Context, endpoint string) (*kubernetes.Client, error) {
	content, err := n.Kubeconfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}

	config, err := kubeconfig.Parse(content)
	if err != nil {
		return nil, err
	}

	// No file, or one that is not understood, has no way to this cluster.
	if own, err := clientcmd.NewDefaultClientConfigLoadingRules().Load(); err == nil {
		takeWays(config, own)
	}

	if endpoint != "" {
		for _, cluster := range config.Clusters {
			cluster.Server, cluster.TLSServerName = endpoint, ""
		}
	}

	return kubernetes.New(config)
}

// takeWays has the clusters of a kubeconfig be reached as the user reaches them: through a proxy or a forwarded port, say.
// They are the same where their authority is.
func takeWays(config, own *api.Config) {
	names := slices.Sorted(maps.Keys(own.Clusters))

	// Of several ways to one cluster, the one in use.
	if current, ok := own.Contexts[own.CurrentContext]; ok {
		names = append([]string{current.Cluster}, names...)
	}

	for _, cluster := range config.Clusters {
		for _, name := range names {
			if way, ok := own.Clusters[name]; ok && sameAuthority(way, cluster) {
				cluster.Server, cluster.TLSServerName, cluster.ProxyURL = way.Server, way.TLSServerName, way.ProxyURL

				break
			}
		}
	}
}

func sameAuthority(way, cluster *api.Cluster) bool {
	authority := way.CertificateAuthorityData

	if len(authority) == 0 && way.CertificateAuthority != "" {
		authority, _ = os.ReadFile(way.CertificateAuthority)
	}

	return len(authority) > 0 && bytes.Equal(bytes.TrimSpace(authority), bytes.TrimSpace(cluster.CertificateAuthorityData))
}
