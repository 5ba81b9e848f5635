// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/block"
	clusterres "github.com/seed-59268b81/talos/resources/cluster"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// sent returns a resource as machines send it.
func sent[S resource.Spec](t *testing.T, id string, spec S) *cosiapi.Resource {
	t.Helper()

	r := resource.New[S]("", id)
	*r.TypedSpec() = spec

	text, err := r.ProtoSpec()
	if err != nil {
		t.Fatal(err)
	}

	out := clienttest.Resource(r.Metadata().Namespace(), r.Metadata().Type(), id, "")
	out.Spec.ProtoSpec = text

	return out
}

// healthyNode returns a node with the resources of a healthy machine.
func healthyNode(t *testing.T, name string, controlPlane bool) *clienttest.Node {
	t.Helper()

	n := &clienttest.Node{Memory: &machine.MemInfo{Memtotal: 1 << 20}}
	n.Resources = []*cosiapi.Resource{
		sent(t, "apid", serviceres.ServiceSpec{Running: true, Healthy: true}),
		sent(t, "kubelet", serviceres.ServiceSpec{Running: true, Healthy: true}),
		sent(t, block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda"}),
		sent(t, "vda", block.DiskSpec{Size: 10 << 30}),
		sent(t, runtime.MachineStatusID, runtime.MachineStatusSpec{Stage: runtime.StageRunning}),
		sent(t, k8s.NodenameID, k8s.NodenameSpec{Nodename: name}),
	}

	if !controlPlane {
		return n
	}

	cfg, err := config.Decode([]byte("version: v1alpha1\ncluster: {proxy: {disabled: true}}\n"))
	if err != nil {
		t.Fatal(err)
	}

	n.Memory.Memtotal = 4 << 20
	n.Resources = append(
		n.Resources,
		sent(t, configres.ActiveID, configres.NewMachineConfigSpec(cfg)),
		sent(t, "etcd", serviceres.ServiceSpec{Running: true, Healthy: true}),
		sent(t, "kube-apiserver", k8s.StaticPodSpec{Pod: map[string]any{"metadata": map[string]any{"name": "kube-apiserver", "namespace": "kube-system"}}}),
		sent(t, "kube-system/kube-apiserver-"+name, k8s.StaticPodStatusSpec{PodStatus: map[string]any{"phase": "Running"}}),
	)
	n.Scripts = map[string]clienttest.Script{
		machineService + "EtcdMemberList": clienttest.Answer(&machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{{Members: []*machine.EtcdMember{
			{Id: 1, Hostname: "n1", PeerUrls: []string{"https://172.20.0.2:2380"}, ClientUrls: []string{"https://172.20.0.2:2379"}},
		}}}}),
	}

	return n
}

// healthyKubernetes returns the API of a cluster with a control plane node n1 and a worker n2.
func healthyKubernetes(w http.ResponseWriter, r *http.Request) {
	const (
		ready = `"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}`
		nodes = `{"items": [
			{"metadata": {"name": "n1", "labels": {"node-role.kubernetes.io/control-plane": ""}}, "status": {
				"addresses": [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "172.20.0.2"}],
				"conditions": [{"type": "Ready", "status": "True"}]}},
			{"metadata": {"name": "n2"}, "status": {
				"addresses": [{"type": "InternalIP", "address": "172.20.0.3"}], "conditions": [{"type": "Ready", "status": "True"}]}}]}`
	)

	switch {
	case r.URL.Path == "/api/v1/nodes":
		fmt.Fprint(w, nodes)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		fmt.Fprint(w, `{"items": [{"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}, `+ready+`}]}`)
	case strings.HasSuffix(r.URL.Path, "/deployments/coredns"):
		fmt.Fprint(w, `{"metadata": {"generation": 1}, "spec": {"replicas": 2}, "status": {"observedGeneration": 1, "readyReplicas": 2}}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestHealthFromHere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(controlPlane, worker *clienttest.Node)
		args  []string
		exit  int
		want  []string
	}{
		{name: "healthy", want: []string{
			"waiting for nodes to be discovered: OK\n", "waiting for etcd to be healthy: OK\n", "waiting for etcd members to be control plane nodes: OK\n",
			"waiting for all nodes memory sizes: OK\n", "waiting for all control plane static pods to be running: OK\n", "waiting for kube-proxy to report ready: SKIP\n",
			"waiting for all k8s nodes to report schedulable: OK\n",
		}},
		{
			name: "named", args: []string{"--control-plane-nodes", "172.20.0.2", "--worker-nodes", "172.20.0.3"},
			want: []string{"waiting for etcd to be healthy: ...\nwaiting for etcd to be healthy: OK\n", "report schedulable: OK\n"},
		},
		{
			name: "members, of which one has no Node", spoil: func(controlPlane, _ *clienttest.Node) {
				controlPlane.Resources = append(
					controlPlane.Resources,
					sent(t, "n1", clusterres.MemberSpec{Addresses: []netip.Addr{netip.MustParseAddr("172.20.0.2")}, MachineType: configres.TypeControlPlane}),
					sent(t, "n2", clusterres.MemberSpec{Addresses: []netip.Addr{netip.MustParseAddr("172.20.0.3")}, MachineType: configres.TypeWorker}),
					sent(t, "n3", clusterres.MemberSpec{Addresses: []netip.Addr{netip.MustParseAddr("172.20.0.3"), netip.MustParseAddr("172.20.0.4")}}),
					sent(t, "n4", clusterres.MemberSpec{Addresses: []netip.Addr{netip.MustParseAddr("172.20.0.5")}}),
				)
			},
			exit: 1, want: []string{"waiting for nodes to be discovered: OK\n", "172.20.0.5"},
		},
		{
			name: "a worker's kubelet", spoil: func(_, worker *clienttest.Node) {
				worker.Resources[1] = sent(t, "kubelet", serviceres.ServiceSpec{Running: true})
			},
			exit: 1, want: []string{"waiting for kubelet to be healthy: 172.20.0.3: service kubelet is running but not healthy\n", "error: 172.20.0.2: node 172.20.0.2: gave up after"},
		},
		{
			name: "a worker with little memory", spoil: func(_, worker *clienttest.Node) { worker.Memory.Memtotal = 1 << 19 },
			exit: 1, want: []string{"172.20.0.3: the machine has 512 MiB of memory, a worker needs 1024 MiB\n"},
		},
		{
			name: "a worker that is off", spoil: func(_, worker *clienttest.Node) { worker.SetDown(true) },
			exit: 1, want: []string{"waiting for apid to be ready: 172.20.0.3: "},
		},
		{
			name: "another endpoint", args: []string{"--k8s-endpoint", "https://127.0.0.1:1"},
			exit: 1, want: []string{"waiting for nodes to be discovered: Kubernetes API: ", "127.0.0.1:1", "name them: --control-plane-nodes"},
		},
		{name: "no time", args: []string{"--wait-timeout", "0s"}, exit: 1, want: []string{"--wait-timeout 0s: want a time to wait"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kube := httptest.NewTLSServer(http.HandlerFunc(healthyKubernetes))
			defer kube.Close()

			controlPlane, worker := healthyNode(t, "n1", true), healthyNode(t, "n2", false)
			authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kube.Certificate().Raw}))
			controlPlane.Kubeconfig = strings.Replace(kubeconfigOf("demo"), "    server: https://172.20.0.2:6443",
				"    certificate-authority-data: "+authority+"\n    server: "+kube.URL, 1)

			if tt.spoil != nil {
				tt.spoil(controlPlane, worker)
			}

			t.Setenv("KUBECONFIG", "/nowhere")

			nodes := map[string]*clienttest.Node{"": controlPlane, "172.20.0.2": controlPlane, "172.20.0.3": worker}
			args := append([]string{"health", "--server=false", "-n", "172.20.0.2", "--wait-timeout", "2s"}, tt.args...)
			r := talosctl(t, clienttest.Start(t, nodes), args...)

			inOrder(t, r.stderr, tt.want)

			if r.exit != tt.exit {
				t.Errorf("got exit status %d, want %d\n%s", r.exit, tt.exit, r.stderr)
			}
		})
	}
}
