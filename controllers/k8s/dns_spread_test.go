// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// TestDNSSpreadStarts checks that the runtime accepts the controller: an input that is declared twice is refused.
func TestDNSSpreadStarts(t *testing.T) {
	if err := runtime.New(memory.New(), slog.New(slog.DiscardHandler)).RegisterController(dnsSpreadController(t.TempDir())); err != nil {
		t.Error(err)
	}
}

// TestDNSPodToMove checks when a pod of CoreDNS moves: when all are on one node, and another node could have one.
func TestDNSPodToMove(t *testing.T) {
	pod := func(name, node string, more ...string) string {
		return fmt.Sprintf(`{"metadata": {"namespace": "kube-system", "name": %q, "uid": "uid-%s", %s "ownerReferences": [{"kind": "ReplicaSet", "controller": true}]},
			"spec": {"nodeName": %q}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, name, name, strings.Join(more, ""), node)
	}
	node := func(name string, spec string) string {
		return fmt.Sprintf(`{"metadata": {"name": %q}, "spec": {%s}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, name, spec)
	}

	const tolerated = `"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]`

	one, two := pod("coredns-x-a", "cp-1"), pod("coredns-x-b", "cp-1")

	for name, tt := range map[string]struct {
		pods, nodes []string
		want        string
	}{
		"together":                  {[]string{two, one}, []string{node("cp-1", tolerated), node("cp-2", tolerated)}, "kube-system/coredns-x-b"},
		"the only node":             {[]string{one, two}, []string{node("cp-1", tolerated)}, ""},
		"apart":                     {[]string{one, pod("coredns-x-b", "cp-2")}, []string{node("cp-1", ""), node("cp-2", "")}, ""},
		"one pod":                   {[]string{one}, []string{node("cp-1", ""), node("cp-2", "")}, ""},
		"no pod":                    {nil, []string{node("cp-1", ""), node("cp-2", "")}, ""},
		"one ends":                  {[]string{one, pod("coredns-x-b", "cp-1", `"deletionTimestamp": "2026-01-01T00:00:00Z",`)}, []string{node("cp-1", ""), node("cp-2", "")}, ""},
		"one is not ready":          {[]string{one, strings.ReplaceAll(two, "True", "False")}, []string{node("cp-1", ""), node("cp-2", "")}, ""},
		"nothing makes them again":  {[]string{one, strings.ReplaceAll(two, "ReplicaSet", "Node")}, []string{node("cp-1", ""), node("cp-2", "")}, ""},
		"the other is not ready":    {[]string{one, two}, []string{node("cp-1", ""), strings.ReplaceAll(node("cp-2", ""), "True", "Unknown")}, ""},
		"the other is cordoned":     {[]string{one, two}, []string{node("cp-1", ""), node("cp-2", `"unschedulable": true`)}, ""},
		"the other has other users": {[]string{one, two}, []string{node("cp-1", ""), node("gpu", `"taints": [{"key": "gpu", "effect": "NoSchedule"}]`)}, ""},
		"the other is not the best": {[]string{one, two}, []string{node("cp-1", ""), node("w", `"taints": [{"key": "gpu", "effect": "PreferNoSchedule"}]`)}, "kube-system/coredns-x-b"},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			items := tt.pods
			if r.URL.Path == "/api/v1/nodes" {
				items = tt.nodes
			} else if got := r.URL.Query().Get("labelSelector"); got != dnsSelector {
				t.Errorf("got the selector %q", got)
			}

			fmt.Fprintf(w, `{"items": [%s]}`, strings.Join(items, ","))
		}))

		client, err := kube.New(kubeconfig.Config{Server: server.URL, CA: certificateOf(server)})
		if err != nil {
			t.Fatal(err)
		}

		got := ""

		moved, from, err := dnsPodToMove(t.Context(), client)
		if moved != nil {
			got = moved.String()

			if from != "cp-1" || moved.Metadata.UID != "uid-coredns-x-b" {
				t.Errorf("%s: got pod %+v from %s", name, moved.Metadata, from)
			}
		}

		if got != tt.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tt.want)
		}

		client.Close()
		server.Close()
	}
}
