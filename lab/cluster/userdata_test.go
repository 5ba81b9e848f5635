// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab/cluster/clustertest"
)

// TestInjected makes a cluster of machines that start with their user data: none gets a configuration over its API, and the client
// configuration is for the same cluster.
func TestInjected(t *testing.T) {
	first, worker := clustertest.NewMachine(t, "10.5.0.2"), clustertest.NewMachine(t, "10.5.0.3")
	first.Others = []string{"10.5.0.3"}

	c := New(clustertest.Lab(t, first, worker), Wait{
		Say: t.Logf, Try: 10 * time.Second, Every: 250 * time.Millisecond, Final: Final,
	})

	options := Options(1)

	userData, err := UserData(images.KubernetesVersion, &options)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	for i, n := range c.Machines.Nodes() { // in place of the metadata server
		text, err := userData(ctx, c.Machines.State(), &c.Machines.State().Nodes[i])
		if err != nil {
			t.Fatal(err)
		}

		if _, err := c.Apply(ctx, n, client.WithInsecure(), text); err != nil {
			t.Fatal(err)
		}
	}

	err = c.Make(ctx, Plan{
		KubernetesVersion: images.KubernetesVersion, Config: options, Injected: true, Ready: true,
		Talosconfig: func(*talosconfig.Config) error { return nil }, Kubeconfig: func(*kubeconfig.File) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	want := []string{"apply", "bootstrap", "bootstrap", "kubeconfig", "version of 10.5.0.3", "health"}
	if d := cmp.Diff(want, first.Calls()); d != "" {
		t.Errorf("calls of the control plane (-want +got):\n%s", d)
	}

	if d := cmp.Diff([]string{"apply"}, worker.Calls()); d != "" {
		t.Errorf("calls of the worker (-want +got):\n%s", d)
	}

	if string(c.Generated.Worker) != worker.Configuration() {
		t.Errorf("the worker's user data differs from the configuration in the lab's directory")
	}
}
