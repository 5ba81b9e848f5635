// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// adminBackdate lets a client whose clock is a little behind use the kubeconfig at once.
const adminBackdate = 10 * time.Second

// Admin makes the administrator's kubeconfig: a fresh certificate of CN=admin in system:masters, for the
// cluster's endpoint, good for ttl.
func Admin(root secrets.KubernetesRootSpec, ttl time.Duration) ([]byte, error) {
	return ForClient(root, Client{
		CommonName:   "admin",
		Organization: "system:masters",
		User:         "admin",
		Server:       root.Endpoint.String(),
		TTL:          ttl,
		NotBefore:    time.Now().Add(-adminBackdate),
	})
}

// Client is someone who gets a kubeconfig with a certificate of the Kubernetes authority.
type Client struct {
	CommonName   string
	Organization string
	// User names the user in the file; the common name when empty.
	User      string
	Server    string
	TTL       time.Duration
	NotBefore time.Time
}

// ForClient signs a certificate for the client and writes its kubeconfig.
func ForClient(root secrets.KubernetesRootSpec, client Client) ([]byte, error) {
	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: Kubernetes authority: %w", client.CommonName, err)
	}

	opts := pki.LeafOptions{CommonName: client.CommonName, Client: true, TTL: client.TTL, NotBefore: client.NotBefore}
	if client.Organization != "" {
		opts.Organization = []string{client.Organization}
	}

	pair, err := ca.Sign(opts)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", client.CommonName, err)
	}

	if client.User == "" {
		client.User = client.CommonName
	}

	return Render(Config{
		Cluster: root.Name,
		User:    client.User,
		Server:  client.Server,
		CA:      secrets.JoinCerts(root.AcceptedCAs),
		Crt:     pair.Crt,
		Key:     pair.Key,
	})
}
