// SPDX-License-Identifier: Apache-2.0

package healthsource_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/health"
	"github.com/seed-59268b81/talos/machine/healthsource"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	nodesAnswer = `{"items": [
		{"metadata": {"name": "cp-1", "labels": {"node-role.kubernetes.io/control-plane": ""}}, "spec": {},
		 "status": {"addresses": [{"type": "InternalIP", "address": "10.5.0.2"}], "conditions": [
			{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True", "message": "kubelet is posting ready status"}]}},
		{"metadata": {"name": "w-1"}, "spec": {"unschedulable": true}, "status": {"conditions": [
			{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}]}},
		{"metadata": {"name": "new"}, "spec": {}, "status": {}}]}`
	podsAnswer = `{"items": [{"metadata": {"name": "kube-scheduler-cp-1"}, "spec": {"nodeName": "cp-1"},
		"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}]}`
	proxyAnswer = `{"metadata": {"generation": 2}, "spec": {}, "status": {"observedGeneration": 2, "desiredNumberScheduled": 3, "numberReady": 1}}`
	dnsAnswer   = `{"metadata": {"generation": 4}, "spec": {"replicas": 2}, "status": {"observedGeneration": 4, "readyReplicas": 2}}`
	staleAnswer = `{"metadata": {"generation": 5}, "spec": {"replicas": 2}, "status": {"observedGeneration": 4, "readyReplicas": 2}}`
)

// apiServer is an API server that requires a certificate of the cluster's authority in the group of the health check, and a node's
// state with that authority.
func apiServer(t *testing.T, answers map[string]string) *healthsource.Kubernetes {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}

	clients := x509.NewCertPool()
	clients.AddCert(ca.Certificate)

	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaf := r.TLS.PeerCertificates[0]
		if d := cmp.Diff([]string{healthsource.Group}, leaf.Subject.Organization); d != "" || time.Until(leaf.NotAfter) > time.Hour {
			t.Errorf("groups of the client (-want +got):\n%s, until %s", d, leaf.NotAfter)
		}

		answer, ok := answers[r.URL.RequestURI()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"reason": "NotFound", "message": "not found"}`
		}

		_, _ = w.Write([]byte(answer)) // the client went away
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)

	st := memory.New()
	spec := secrets.KubernetesRootSpec{
		Name: "c", LocalEndpoint: secrets.URL{FullPath: server.URL}, IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key},
		AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}, {Crt: pki.EncodeCertificate(server.Certificate())}},
	}

	if err := typed.Set(t.Context(), st, "", secrets.KubernetesRootID, spec); err != nil {
		t.Fatal(err)
	}

	k := &healthsource.Kubernetes{State: st}
	t.Cleanup(k.Close)

	return k
}

func TestKubernetes(t *testing.T) {
	k := health.KubernetesAPI{Get: apiServer(t, map[string]string{
		"/api/v1/nodes": nodesAnswer,
		"/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-scheduler": podsAnswer,
		"/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy":                 proxyAnswer,
		"/apis/apps/v1/namespaces/kube-system/deployments/coredns":                   dnsAnswer,
		"/apis/apps/v1/namespaces/kube-system/deployments/stale":                     staleAnswer,
	}).Get}

	nodes, err := k.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]health.Node{
		{Name: "cp-1", Addresses: []string{"10.5.0.2"}, ControlPlane: true, Ready: true, Reason: "kubelet is posting ready status"},
		{Name: "w-1", Reason: "Kubelet stopped posting node status.", Unschedulable: true},
		{Name: "new", Reason: "the kubelet has not reported yet"},
	}, nodes); d != "" {
		t.Errorf("nodes (-want +got):\n%s", d)
	}

	pods, err := k.Pods(t.Context(), "kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]health.Pod{{Name: "kube-scheduler-cp-1", Node: "cp-1", Phase: "Running"}}, pods); d != "" {
		t.Errorf("pods (-want +got):\n%s", d)
	}

	for _, tt := range []struct {
		kind, name string
		want       *health.Workload
	}{
		{"daemonsets", "kube-proxy", &health.Workload{Wanted: 3, Ready: 1}},
		{"deployments", "coredns", &health.Workload{Wanted: 2, Ready: 2}},
		{"deployments", "stale", &health.Workload{Wanted: 2}},
		{"deployments", "missing", nil},
	} {
		got, err := k.Workload(t.Context(), tt.kind, tt.name)
		if err != nil {
			t.Fatal(err)
		}

		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s/%s (-want +got):\n%s", tt.kind, tt.name, d)
		}
	}
}

func TestKubernetesErrors(t *testing.T) {
	garbage := apiServer(t, map[string]string{"/api/v1/nodes": `{"items": 7}`})
	elsewhere := apiServer(t, map[string]string{"/api/v1/nodes": nodesAnswer})
	elsewhere.Endpoint = "https://127.0.0.1:1"

	for _, tt := range []struct {
		name string
		k    *healthsource.Kubernetes
		want string
	}{
		{"no certificates", &healthsource.Kubernetes{State: memory.New()}, "call a control plane node"},
		{"answer of another shape", garbage, "GET /api/v1/nodes: answer"},
		{"endpoint of the caller", elsewhere, "127.0.0.1:1"},
	} {
		if _, err := (health.KubernetesAPI{Get: tt.k.Get}).Nodes(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want it to contain %q", tt.name, err, tt.want)
		}
	}

	if _, err := (healthsource.Etcd{State: memory.New()}).Members(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "not issued yet") {
		t.Errorf("etcd without certificates: got %v", err)
	}
}
