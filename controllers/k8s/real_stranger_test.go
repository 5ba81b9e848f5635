// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/cosi/typed"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/stranger"
)

func init() { stranger.Main() }

// harmless are the paths that everyone may read.
var harmless = []string{"/healthz", "/livez", "/readyz", "/readyz?verbose", "/version", "/health", "/health?serializable=true", "/metrics"}

// strangers checks what an unprivileged process on the node's network gets from a control plane. It gets no secret at any port, and cannot bind
// a port of a running program or one that process 1 holds. On the port of a stopped program it receives nothing but health checks.
func strangers(t *testing.T, c *cluster, bundle *secrets.Bundle, programs *programs) {
	t.Helper()

	values := secretsOf(bundle)

	got := stranger.Run(t, "", stranger.Task{Read: true, Take: true})
	t.Logf("while all run: %s", got)

	if found := got.Found(values); len(found) > 0 {
		t.Errorf("secrets read: %d %q, want 0", len(found), found)
	}

	for _, port := range []int{2379, 2380, 6443, 7445, 10257, 10259} {
		if !slices.Contains(got.Ports, port) {
			t.Errorf("port %d: there is no listener, so nothing was tried", port)
		}
	}

	if len(got.Taken) > 0 {
		t.Errorf("ports taken: %d %q, want 0", len(got.Taken), got.Taken)
	}

	for _, answer := range got.Answers {
		_, path, _ := strings.Cut(answer.What, "://")
		if !slices.Contains(harmless, path) {
			t.Errorf("port %d: %s is answered without a certificate", answer.Port, answer.What)
		}
	}

	// The programs of these ports have stopped. Any process can bind the ports now, and the node's programs still connect there.
	for _, id := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		programs.stop(id)
	}

	got = stranger.Run(t, "", stranger.Task{Ports: []int{2379, 2380, 6443, 7445, 10257, 10259}, Patience: 8 * time.Second})
	t.Logf("while none runs: %s", got)

	if found := got.Found(values); len(found) > 0 {
		t.Errorf("secrets sent to an impostor: %d %q, want 0", len(found), found)
	}

	for _, word := range []string{"Authorization:", "Bearer "} {
		if strings.Contains(string(got.Heard), word) {
			t.Errorf("an impostor received %s", word)
		}
	}

	for _, taken := range got.Taken {
		if strings.Contains(taken, ":7445 ") {
			t.Errorf("KubePrism's port was taken while no API server answered: %s", taken)
		}
	}

	if got.Callers == 0 {
		t.Errorf("got %s: want a connection to the impostor, else nothing was tried", got)
	}

	eventually(t, "KubePrism does not accept an impostor", func() error {
		status, err := typed.Get[k8sres.KubePrismStatusesSpec](t.Context(), c.State, "", k8sres.KubePrismStatusID)
		if err == nil && status.TypedSpec().Healthy {
			return fmt.Errorf("it is healthy")
		}

		return err
	})
}

// secretsOf returns the secret values of a bundle.
func secretsOf(b *secrets.Bundle) map[string]string {
	_, half, _ := strings.Cut(b.Secrets.BootstrapToken, ".")

	values := stranger.Forms(map[string]string{
		"the cluster's secret": b.Cluster.Secret, "the machine token": b.Trustd.Token,
		"the bootstrap token": b.Secrets.BootstrapToken, "the secret of the bootstrap token": half,
		"the AES key": b.Secrets.AESCBCSecret, "the secretbox key": b.Secrets.SecretboxSecret,
		"etcd's key": string(b.Certs.Etcd.Key), "Kubernetes' key": string(b.Certs.Kubernetes.Key),
		"the aggregator's key": string(b.Certs.Aggregator.Key), "the key of service accounts": string(b.Certs.ServiceAccount.Key),
		"the API's key": string(b.Certs.OS.Key),
	})

	maps.Copy(values, map[string]string{"any private key": "PRIVATE KEY"})

	return values
}
