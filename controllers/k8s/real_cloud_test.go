// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/kube"
)

// TestRealCloud starts a control plane of a cluster in a cloud, and the manager of a cloud that has nothing but machines.
func TestRealCloud(t *testing.T) { withPrograms(t, realCloud) }

func realCloud(t *testing.T, binaries string) {
	const (
		nodes = "/api/v1/nodes"
		node  = nodes + "/cp1"
	)

	manager := hosttest.Built(t, "cloud-controller-manager")

	patches, err := patch.Load([]string{"cluster: {externalCloudProvider: {enabled: true}}"})
	if err != nil {
		t.Fatal(err)
	}

	_, _, client, kubeconfigs := startReal(t, binaries, generate.Options{
		Secrets: generateSecrets(t), AllowSchedulingOnControlPlanes: true, Patches: patches,
	})

	// As the kubelet with --cloud-provider=external does.
	eventually(t, "the Node is registered", func() error {
		_, err := client.Create(t.Context(), nodes, kube.Object{
			"apiVersion": "v1", "kind": "Node",
			"metadata": kube.Object{"name": "cp1", "annotations": kube.Object{
				"alpha.kubernetes.io/provided-node-ip": controllertest.Address.Addr().String(),
			}},
			"spec": kube.Object{"taints": []any{
				kube.Object{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
			}},
		})

		return err
	})

	startCloudManager(t, manager, kubeconfigs.LocalhostAdminKubeconfig)

	eventually(t, "the manager has initialized the Node", func() error {
		object, err := client.Get(t.Context(), node)
		if err != nil {
			return err
		}

		for _, taint := range kube.Items(object, "spec", "taints") {
			if taint["key"] == "node.cloudprovider.kubernetes.io/uninitialized" {
				return fmt.Errorf("got the taints %v", kube.Items(object, "spec", "taints"))
			}
		}

		zone := kube.At[string](object, "metadata", "labels", "topology.kubernetes.io/zone")
		if id := kube.At[string](object, "spec", "providerID"); id != "lab://cp1" || zone != "lab-a" {
			return fmt.Errorf("got the provider ID %q and the zone %q", id, zone)
		}

		return nil
	})
}

// startCloudManager runs the manager until the test ends. Its output is shown when the test fails.
func startCloudManager(t *testing.T, program, access string) {
	t.Helper()

	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(access), 0o600); err != nil {
		t.Fatal(err)
	}

	log, err := os.Create(filepath.Join(t.TempDir(), "manager.log"))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())

	//program:built one of out/components/bin
	cmd := exec.CommandContext(ctx, program, "--kubeconfig="+path, "--leader-elect=false", "--configure-cloud-routes=false",
		"--controllers=cloud-node", "--authentication-skip-lookup", "--bind-address=127.0.0.1", "--cert-dir="+t.TempDir())
	cmd.Stdout, cmd.Stderr = log, log

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cancel()

		_ = cmd.Wait() // it was stopped
		_ = log.Close()

		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the manager:\n%s", text)
		}
	})
}
