// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// adminBackdate lets a server whose clock is a little behind accept the kubeconfig at once.
const adminBackdate = 10 * time.Second

// AdminKubeconfig returns an administrator's kubeconfig for the cluster's endpoint, with a new certificate of CN=admin in
// system:masters that is valid for ttl.
func AdminKubeconfig(root secrets.KubernetesRootSpec, ttl time.Duration) ([]byte, error) {
	const name = "admin"

	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: Kubernetes authority: %w", name, err)
	}

	pair, err := ca.Sign(pki.LeafOptions{
		CommonName: name, Organization: []string{"system:masters"}, Client: true, TTL: ttl, NotBefore: time.Now().Add(-adminBackdate),
	})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", name, err)
	}

	return kubeconfig.Render(kubeconfig.Config{
		Cluster: root.Name, User: name, Server: root.Endpoint.String(), CA: secrets.JoinCerts(root.AcceptedCAs), Crt: pair.Crt, Key: pair.Key,
	})
}
