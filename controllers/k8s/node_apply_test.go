// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/nodeowner"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// TestApplyNodeAsKubelet checks that a change that the API server forbids does not prevent the other changes.
func TestApplyNodeAsKubelet(t *testing.T) {
	node := map[string]any{"metadata": map[string]any{"name": "w1"}, "spec": map[string]any{"taints": []any{map[string]any{"key": "old", "effect": "NoSchedule"}}}}
	writes := 0

	const role, zone = "node-role.kubernetes.io/db", "topology.kubernetes.io/zone"

	// As the admission plugin NodeRestriction: a kubelet must not change taints, and most labels of Kubernetes.
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			var next map[string]any
			if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
				t.Error(err)
			}

			spec, _ := next["spec"].(map[string]any)
			if present, _ := node["spec"].(map[string]any); !reflect.DeepEqual(spec["taints"], present["taints"]) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"kind":"Status","message":"node w1 is not allowed to modify taints"}`))

				return
			}

			labels, _ := next["metadata"].(map[string]any)["labels"].(map[string]any)
			if _, set := labels[role]; set {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"kind":"Status","message":"is not allowed to modify labels: ` + role + `"}`))

				return
			}

			node, writes = next, writes+1
		}

		_ = json.NewEncoder(w).Encode(node)
	}))
	defer server.Close()

	client, err := kube.New(kubeconfig.Config{Server: server.URL, CA: certificateOf(server), Token: "a.b"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	wanted := nodeowner.Wanted{
		Labels: map[string]string{"a": "b", role: "", zone: "z"}, Annotations: map[string]string{"c": "d"}, Taints: map[string]nodeowner.Taint{"new": {Effect: "NoExecute"}},
	}

	changed, err := applyNode(t.Context(), client, "w1", wanted)
	if !changed || err == nil || !strings.Contains(err.Error(), "taints: ") || !strings.Contains(err.Error(), role) || strings.HasPrefix(err.Error(), "labels: ") {
		t.Errorf("got changed %t, %v; want a change, and an error about the taints and the role only", changed, err)
	}

	metadata, _ := node["metadata"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"a": "b", zone: "z"}, metadata["labels"]); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	// There are no writes when nothing more can be changed.
	before := writes
	if _, err := applyNode(t.Context(), client, "w1", wanted); err == nil || writes != before {
		t.Errorf("once more: got %v and %d writes, want an error and none", err, writes-before)
	}
}

// certificateOf returns the certificate of a test server.
func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
