// SPDX-License-Identifier: Apache-2.0

package healthsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeapi"
	"github.com/seed-59268b81/talos/controllers/secrets/kubeconfig"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Kubernetes asks a real API server, as the administrator that this node's state has a kubeconfig of. It is not for
// use by several goroutines.
type Kubernetes struct {
	State state.Reader
	// Endpoint is the API server's URL, by default this node's.
	Endpoint string

	text   string // the kubeconfig of the client
	client *kubeapi.Client
}

func (k *Kubernetes) connect(ctx context.Context) (*kubeapi.Client, error) {
	certs, err := typed.Find[secrets.KubernetesCertsSpec](ctx, k.State, "", secrets.KubernetesID)
	if err != nil {
		return nil, err
	}

	if certs == nil {
		return nil, errors.New("the certificates for Kubernetes are not made yet")
	}

	text := certs.TypedSpec().LocalhostAdminKubeconfig
	if k.client != nil && k.text == text {
		return k.client, nil
	}

	config, err := kubeconfig.Parse([]byte(text))
	if err != nil {
		return nil, err
	}

	if k.Endpoint != "" {
		config.Server = k.Endpoint
	}

	k.Close()

	if k.client, err = kubeapi.New(config); err != nil {
		return nil, err
	}

	k.text = text

	return k.client, nil
}

// Close drops the connection.
func (k *Kubernetes) Close() {
	if k.client != nil {
		k.client.Close()
		k.client = nil
	}
}

// Get is the one that health.KubernetesAPI has.
func (k *Kubernetes) Get(ctx context.Context, path string, into any) (found bool, err error) {
	client, err := k.connect(ctx)
	if err != nil {
		return false, err
	}

	object, err := client.Get(ctx, path)

	switch {
	case kubeapi.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	}

	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, into)
	}

	if err != nil {
		return false, fmt.Errorf("answer to GET %s: %w", path, err)
	}

	return true, nil
}
