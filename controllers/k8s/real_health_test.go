// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
)

// readsHealth checks the permissions of the health check's group in its manifest: to read what the check reports, and nothing else.
func readsHealth(t *testing.T, c *cluster, admin string) {
	t.Helper()

	config, err := kubeconfig.Parse([]byte(admin))
	if err != nil {
		t.Fatal(err)
	}

	root := controllertest.Wait[secretsres.KubernetesRootSpec](c.Node, secretsres.KubernetesRootID, nil)

	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "talos:health", Organization: []string{"talos:health"}, Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	config.Crt, config.Key = pair.Crt, pair.Key

	client, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	eventually(t, "the health check may read", func() error {
		for _, path := range []string{
			"/api/v1/nodes", "/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-proxy",
			"/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy", "/apis/apps/v1/namespaces/kube-system/deployments/coredns",
		} {
			if _, err := client.Get(t.Context(), path); err != nil {
				return err
			}
		}

		return nil
	})

	for _, path := range []string{
		"/api/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/kube-system/configmaps", "/api/v1/namespaces/default/pods",
		"/apis/apps/v1/namespaces/kube-system/daemonsets", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	} {
		if _, err := client.Get(t.Context(), path); !kube.IsForbidden(err) {
			t.Errorf("the health check reads %s: got %v, want it forbidden", path, err)
		}
	}

	node := kube.Object{"apiVersion": "v1", "kind": "Node", "metadata": kube.Object{"name": "made-up"}}
	if _, err := client.Create(t.Context(), "/api/v1/nodes", node); !kube.IsForbidden(err) {
		t.Errorf("the health check creates a node: got %v, want it forbidden", err)
	}
}
