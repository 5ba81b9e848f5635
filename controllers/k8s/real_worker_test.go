// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	configsecrets "github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// workerAddress is on the same loopback as the control plane's address. Both run KubePrism there, so the worker's has another port.
const (
	workerAddress = "172.20.0.3/24"
	workerPatch   = "machine: {features: {kubePrism: {port: 7446}}, nodeLabels: {rack: a, node-role.kubernetes.io/db: ''}, nodeTaints: {db: NoSchedule}}"
)

// workerNode is a node with all controllers of Kubernetes and a worker's configuration.
func workerNode(t *testing.T, bundle *configsecrets.Bundle) *cluster {
	t.Helper()

	patches, err := patch.Load([]string{workerPatch})
	if err != nil {
		t.Fatal(err)
	}

	c := &cluster{supervisor: &controllertest.Supervisor{}, root: controllertest.Root(t), opts: generate.Options{Secrets: bundle, Patches: patches}}
	c.Node = controllertest.Start(t, slices.Concat(
		secrets.Controllers(), k8s.Controllers(k8s.Deps{Supervisor: c.supervisor, Root: c.root}),
	)...)

	c.Ready(c.opts)

	out, err := generate.New("test", "https://172.20.0.2:6443", "", c.opts)
	if err != nil {
		t.Fatal(err)
	}

	c.Configure(out.Worker)
	controllertest.Set(c.Node, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeWorker})
	c.Hostname("w1")

	addresses := network.NodeAddressSpec{Addresses: []netip.Prefix{netip.MustParsePrefix(workerAddress)}}

	for _, id := range []string{network.NodeAddressDefaultID, network.NodeAddressCurrentID, network.NodeAddressRoutedID, network.NodeAddressAccumulativeID} {
		controllertest.Set(c.Node, id, addresses)
		controllertest.Set(c.Node, network.FilteredNodeAddressID(id, network.NodeAddressFilterNoK8s), addresses)
	}

	for _, id := range []string{"kubelet-EPHEMERAL", "nodename-EPHEMERAL"} {
		controllertest.Set(c.Node, id, block.VolumeMountStatusSpec{VolumeID: block.VolumeEphemeral, Target: "/var"})
	}

	return c
}

// joinWorker plays a worker's kubelet with the real API server and controller manager. It requests a certificate with the bootstrap token through
// the worker's own KubePrism, gets it without an administrator, registers its Node with it, and gets the next certificate with the first one.
// Then the worker's controllers see the control plane and the Node, and label the Node.
func joinWorker(t *testing.T, bundle *configsecrets.Bundle, admin *kube.Client) {
	t.Helper()

	c := workerNode(t, bundle)
	c.Service("cri", true)
	waitService(t, c, "kubelet", "")

	text, err := os.ReadFile(filepath.Join(c.root, kubelet.BootstrapKubeconfigFile))
	if err != nil {
		t.Fatal(err)
	}

	config, err := kubeconfig.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	if config.Server != "https://127.0.0.1:7446" || config.Token == "" {
		t.Fatalf("bootstrap kubeconfig: got server %s with token %t, want KubePrism and the token", config.Server, config.Token != "")
	}

	config.Crt, config.Key = requestIdentity(t, config)
	config.Token = ""
	config.Crt, config.Key = requestIdentity(t, config)

	client, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	if _, err := client.Create(t.Context(), "/api/v1/nodes", kube.Object{
		"apiVersion": "v1", "kind": "Node", "metadata": kube.Object{"name": "w1"},
	}); err != nil {
		t.Fatal(err)
	}

	// The files of the kubelet.
	if text, err = kubeconfig.Render(config); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(c.root, kubelet.KubeconfigFile), text, 0o600); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the worker knows the control plane, and its Node has its labels", func() error {
		node, err := admin.Get(t.Context(), "/api/v1/nodes/w1")
		if err != nil {
			return err
		}

		labels, _ := node["metadata"].(kube.Object)["labels"].(kube.Object)
		if labels["rack"] != "a" {
			return fmt.Errorf("the labels are %v", labels)
		}

		return nil
	})

	endpoint := controllertest.Wait[k8sres.EndpointSpec](c.Node, k8sres.EndpointAPIServerID, nil)
	if got := fmt.Sprint(endpoint.Addresses); got != "[172.20.0.2]" {
		t.Errorf("API servers: got %s, want that of the control plane", got)
	}

	controllertest.Wait[k8sres.NodeStatusSpec](c.Node, "w1", nil)

	// This Node was registered without its taint. The API server refuses it now, and the label of a role always.
	for id, refusal := range map[string]string{"node/taints": "is not allowed to modify taints", "node/labels": "node-role.kubernetes.io/db"} {
		controllertest.Wait(c.Node, id, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, refusal) })
	}

	if failing, err := typed.Find[meta.ControllerStatusSpec](t.Context(), c.State, "", "k8s.NodeApplyController"); err != nil || failing != nil {
		t.Errorf("the controller of the Node fails: %v, %v", failing, err)
	}
}

// requestIdentity requests a kubelet's certificate and waits for it.
func requestIdentity(t *testing.T, config kubeconfig.Config) (crt, key []byte) {
	t.Helper()

	client, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	csr, key, err := pki.NewCSR(pki.CSROptions{Kind: pki.ECDSAP256, CommonName: "system:node:w1", Organization: []string{"system:nodes"}})
	if err != nil {
		t.Fatal(err)
	}

	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

	var name string

	// KubePrism first finds a working API server.
	eventually(t, "the kubelet requests a certificate", func() error {
		created, err := client.Create(t.Context(), requests, kube.Object{
			"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": kube.Object{"generateName": "node-csr-"},
			"spec": kube.Object{
				"signerName": "kubernetes.io/kube-apiserver-client-kubelet", "request": base64.StdEncoding.EncodeToString(csr),
				"usages": []any{"digital signature", "client auth"},
			},
		})
		if err == nil {
			name, _ = created["metadata"].(kube.Object)["name"].(string)
		}

		return err
	})

	eventually(t, "the certificate is approved and signed", func() error {
		request, err := client.Get(t.Context(), requests+"/"+name)
		if err != nil {
			return err
		}

		status, _ := request["status"].(kube.Object)

		encoded, ok := status["certificate"].(string)
		if !ok {
			return errors.New("not yet")
		}

		crt, err = base64.StdEncoding.DecodeString(encoded)

		return err
	})

	return crt, key
}
