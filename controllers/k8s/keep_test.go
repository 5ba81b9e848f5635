// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	configres "github.com/seed-59268b81/talos/resources/config"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// TestKeepsWhatRuns checks that a running control plane survives the loss of each of its inputs except the configuration: the static pods, and
// the resources that they depend on, stay as they are.
func TestKeepsWhatRuns(t *testing.T) {
	c := controlPlane(t, generate.Options{Secrets: generateSecrets(t)})
	c.Service("etcd", true)
	controllertest.Wait[k8sres.StaticPodSpec](c.Node, k8sres.APIServerID, nil)

	running := []resource.Pointer{
		resource.PointerOf[secretsres.KubernetesDynamicCertsSpec]("", secretsres.KubernetesDynamicID),
		resource.PointerOf[secretsres.KubernetesCertsSpec]("", secretsres.KubernetesID),
		resource.PointerOf[secretsres.EtcdCertsSpec]("", secretsres.EtcdID),
		resource.PointerOf[secretsres.CertSANSpec]("", secretsres.CertSANKubernetesID),
		resource.PointerOf[k8sres.SecretsStatusSpec]("", k8sres.StaticPodsID),
		resource.PointerOf[k8sres.SecretsStatusSpec]("", k8sres.APIServerID),
		resource.PointerOf[k8sres.StaticPodSpec]("", k8sres.APIServerID),
	}

	versions := func() map[string]string {
		out := map[string]string{}

		for _, ptr := range running {
			r, err := c.State.Get(context.Background(), ptr)
			if err != nil || r.Metadata().Phase() != resource.PhaseRunning {
				t.Errorf("%s/%s: it was destroyed (%v)", ptr.Type, ptr.ID, err)

				continue
			}

			out[ptr.Type+"/"+ptr.ID] = r.Metadata().VersionString()
		}

		return out
	}

	remove := func(ptr resource.Pointer) {
		if err := c.State.Destroy(context.Background(), ptr); err != nil && !state.IsNotFound(err) {
			t.Fatal(err)
		}
	}

	before := versions()

	for _, loss := range []struct {
		name string
		lose func()
	}{
		{"the clock is not in sync any more", func() { controllertest.Set(c.Node, timeres.StatusID, timeres.StatusSpec{}) }},
		{"the status of the clock is missing", func() { remove(resource.PointerOf[timeres.StatusSpec]("", timeres.StatusID)) }},
		{"the hostname is missing", func() { remove(resource.PointerOf[network.HostnameStatusSpec]("", network.HostnameID)) }},
		{"the addresses are missing", func() {
			for _, id := range []string{
				network.NodeAddressAccumulativeID, network.NodeAddressRoutedID,
				network.FilteredNodeAddressID(network.NodeAddressAccumulativeID, network.NodeAddressFilterNoK8s),
			} {
				remove(resource.PointerOf[network.NodeAddressSpec]("", id))
			}
		}},
		{"etcd is not healthy", func() { c.Service("etcd", false) }},
	} {
		loss.lose()
		time.Sleep(200 * time.Millisecond)

		for ptr, version := range versions() {
			if version != before[ptr] {
				t.Errorf("%s: %s: got version %s, want %s", loss.name, ptr, version, before[ptr])
			}
		}
	}

	// Without a configuration nothing is kept.
	remove(resource.PointerOf[configres.MachineConfigSpec]("", configres.ActiveID))

	for _, ptr := range running {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if _, err := c.State.Get(context.Background(), ptr); state.IsNotFound(err) {
				break
			}

			if time.Now().After(deadline) {
				t.Fatalf("%s/%s: it is kept without a configuration", ptr.Type, ptr.ID)
			}
		}
	}
}
