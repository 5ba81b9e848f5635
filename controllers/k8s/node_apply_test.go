// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/k8s/nodeowner"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// restrictedNode is the Node w1 of an API server with the admission plugin NodeRestriction.
type restrictedNode struct {
	*httptest.Server

	mu     sync.Mutex
	node   map[string]any
	writes int
}

// The label that a kubelet must not set, and one that it may.
const roleLabel, zoneLabel = "node-role.kubernetes.io/db", "topology.kubernetes.io/zone"

func startRestricted(t *testing.T) *restrictedNode {
	t.Helper()

	n := &restrictedNode{node: map[string]any{
		"metadata": map[string]any{"name": "w1"}, "spec": map[string]any{"taints": []any{map[string]any{"key": "old", "effect": "NoSchedule"}}},
	}}

	// A kubelet must not change taints, and most labels of Kubernetes.
	n.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		defer n.mu.Unlock()

		if r.Method == http.MethodPut {
			var next map[string]any
			if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
				t.Error(err)
			}

			spec, _ := next["spec"].(map[string]any)
			if present, _ := n.node["spec"].(map[string]any); !reflect.DeepEqual(spec["taints"], present["taints"]) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"kind":"Status","message":"node w1 is not allowed to modify taints"}`))

				return
			}

			labels, _ := next["metadata"].(map[string]any)["labels"].(map[string]any)
			if _, set := labels[roleLabel]; set {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"kind":"Status","message":"is not allowed to modify labels: ` + roleLabel + `"}`))

				return
			}

			n.node, n.writes = next, n.writes+1
		}

		_ = json.NewEncoder(w).Encode(n.node)
	}))
	t.Cleanup(n.Close)

	return n
}

func (n *restrictedNode) labels() map[string]any {
	n.mu.Lock()
	defer n.mu.Unlock()

	metadata, _ := n.node["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)

	return labels
}

func (n *restrictedNode) access() kubeconfig.Config {
	return kubeconfig.Config{Cluster: "test", User: "w1", Server: n.URL, CA: certificateOf(n.Server), Token: "a.b"}
}

// TestApplyNode checks that a change that the API server forbids does not prevent the other changes. It is an error unless a kubelet must not
// make it.
func TestApplyNode(t *testing.T) {
	for _, kubelet := range []bool{true, false} {
		t.Run(map[bool]string{true: "as a kubelet", false: "as an administrator"}[kubelet], func(t *testing.T) {
			server := startRestricted(t)

			client, err := kube.New(server.access())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()

			wanted := nodeowner.Wanted{
				Labels: map[string]string{"a": "b", roleLabel: "", zoneLabel: "z"}, Annotations: map[string]string{"c": "d"},
				Taints: map[string]nodeowner.Taint{"new": {Effect: "NoExecute"}},
			}

			apply := func(change bool) {
				t.Helper()

				changed, refused, err := applyNode(t.Context(), client, "w1", wanted, kubelet)
				if changed != change {
					t.Errorf("got changed %t, want %t", changed, change)
				}

				text, role := refused["node/taints"], refused["node/labels"]

				if kubelet && err != nil {
					t.Errorf("got %v, want no error", err)
				}

				if !kubelet {
					if err == nil {
						t.Fatal("got no error")
					}

					text, role = err.Error(), err.Error()
				}

				if !strings.Contains(text, "not allowed to modify taints") || !strings.Contains(role, roleLabel) || strings.HasPrefix(text, "labels: ") {
					t.Errorf("got %q and %q, want the taints and the role only", text, role)
				}
			}

			apply(true)

			if diff := cmp.Diff(map[string]any{"a": "b", zoneLabel: "z"}, server.labels()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}

			// There are no writes when nothing more can be changed.
			before := server.writes

			apply(false)

			if server.writes != before {
				t.Errorf("once more: got %d writes, want none", server.writes-before)
			}
		})
	}
}

// TestWorkerNode: a worker's settings of its Node that it cannot apply are shown until they are gone, and the controller does not fail.
func TestWorkerNode(t *testing.T) {
	server, root := startRestricted(t), t.TempDir()

	text, err := kubeconfig.Render(server.access())
	if err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(root, kubelet.KubeconfigFile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}

	n := controllertest.Start(t, nodeApplyController(root))
	controllertest.Set(n, config.MachineTypeID, config.MachineTypeSpec{MachineType: config.TypeWorker})
	controllertest.Set(n, k8s.KubeletID, k8s.KubeletKubeconfigSpec{Hash: "1"})
	controllertest.Set(n, k8s.NodenameID, k8s.NodenameSpec{Nodename: "w1"})
	controllertest.Set(n, "a", k8s.NodeLabelSpecSpec{Key: "a", Value: "b"})
	controllertest.Set(n, roleLabel, k8s.NodeLabelSpecSpec{Key: roleLabel})
	controllertest.Set(n, "new", k8s.NodeTaintSpecSpec{Key: "new", Effect: "NoExecute"})
	controllertest.Set(n, "w1", k8s.NodeStatusSpec{Nodename: "w1"})

	for id, want := range map[string]string{"node/taints": "kubectl taint nodes w1", "node/labels": roleLabel} {
		controllertest.Wait(n, id, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, want) })
	}

	if diff := cmp.Diff(map[string]any{"a": "b"}, server.labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	if err := n.State.Destroy(t.Context(), resource.KindOf[k8s.NodeTaintSpecSpec]("").Pointer("new")); err != nil {
		t.Fatal(err)
	}

	cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, "node/taints")
	controllertest.Wait[runtime.SettingConditionSpec](n, "node/labels", nil)

	if failing, err := typed.List[meta.ControllerStatusSpec](t.Context(), n.State, ""); err != nil || len(failing) > 0 {
		t.Errorf("controllers that fail: got %v, %v, want none", failing, err)
	}
}

// certificateOf returns the certificate of a test server.
func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
