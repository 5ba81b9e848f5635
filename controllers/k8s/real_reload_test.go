// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"testing"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
)

// reloads checks that the running API server serves a new certificate, and that its pod stays.
func reloads(t *testing.T, c *cluster, admin string) {
	t.Helper()

	config, err := kubeconfig.Parse([]byte(admin))
	if err != nil {
		t.Fatal(err)
	}

	config.TLSServerName = "more.example"

	client, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	if err := client.Ready(t.Context()); err == nil {
		t.Fatalf("the certificate has the name %s already", config.TLSServerName)
	}

	pod := controllertest.Version[k8sres.StaticPodSpec](c.Node, k8sres.APIServerID)

	c.Configure(c.text(t, "cluster: {apiServer: {certSANs: ["+config.TLSServerName+"]}}"))
	eventually(t, "the API server serves its new certificate", func() error { return client.Ready(t.Context()) })

	if now := controllertest.Version[k8sres.StaticPodSpec](c.Node, k8sres.APIServerID); now != pod {
		t.Errorf("the pod of the API server: got version %d, want %d", now, pod)
	}
}
