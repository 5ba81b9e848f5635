// SPDX-License-Identifier: Apache-2.0

package healthsource

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	// Group may read what a health check needs, by the manifest 12-talos-health. A caller chooses the API server that this node
	// connects to, which must not receive the credentials of an administrator.
	Group = "talos:health"
	// lifetime of a certificate in the group. It is signed when a check starts, and renewed at half of its life.
	lifetime = time.Hour
)

// Kubernetes reads from an API server with a certificate that this control plane node signs. It is not safe for concurrent
// use.
type Kubernetes struct {
	State state.Reader
	// Endpoint is the API server's URL, by default this node's.
	Endpoint string

	root   secrets.KubernetesRootSpec // authority of the client's certificate
	renew  time.Time
	client *kube.Client
}

func (k *Kubernetes) connect(ctx context.Context) (*kube.Client, error) {
	var root secrets.KubernetesRootSpec

	if found := typed.Read(ctx, k.State, secrets.KubernetesRootID, &root); found.Err != nil {
		return nil, found.Err
	} else if !found.OK {
		return nil, errors.New("this node does not have the authority of Kubernetes: call a control plane node, or wait for its configuration")
	}

	if k.client != nil && time.Now().Before(k.renew) && reflect.DeepEqual(k.root, root) {
		return k.client, nil
	}

	config, err := identity(root)
	if err != nil {
		return nil, err
	}

	if k.Endpoint != "" {
		config.Server = k.Endpoint
	}

	k.Close()

	if k.client, err = kube.New(config); err != nil {
		return nil, err
	}

	k.root, k.renew = root, time.Now().Add(lifetime/2)

	return k.client, nil
}

// identity signs a certificate that may only read.
func identity(root secrets.KubernetesRootSpec) (kubeconfig.Config, error) {
	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		return kubeconfig.Config{}, fmt.Errorf("cluster.ca: %w", err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: Group, Organization: []string{Group}, Client: true, TTL: lifetime})
	if err != nil {
		return kubeconfig.Config{}, fmt.Errorf("certificate of the health check: %w", err)
	}

	return kubeconfig.Config{
		Cluster: root.Name, User: Group, Server: root.LocalEndpoint.String(), CA: secrets.JoinCerts(root.AcceptedCAs), Crt: pair.Crt, Key: pair.Key,
	}, nil
}

// Close closes the connection.
func (k *Kubernetes) Close() {
	if k.client != nil {
		k.client.Close()
		k.client = nil
	}
}

// Get implements the function of health.KubernetesAPI.
func (k *Kubernetes) Get(ctx context.Context, path string, into any) (found bool, err error) {
	client, err := k.connect(ctx)
	if err != nil {
		return false, err
	}

	return client.Find(ctx, path, into)
}
