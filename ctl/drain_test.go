// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/client/clienttest"
)

// kubeServer is a Kubernetes API with one node, n1, and one pod on it. Once the pod was evicted, the node's next report is of
// another boot. A stuck pod stays when it is evicted.
type kubeServer struct {
	mu       sync.Mutex
	cordoned bool
	stuck    bool
	evicted  bool
	calls    []string
}

func (s *kubeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()

	content, _ := io.ReadAll(r.Body) // a failure shows as another body

	if r.Method != http.MethodGet {
		s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	}

	switch {
	case r.Method == http.MethodPatch:
		s.cordoned = strings.Contains(string(content), "true")
		io.WriteString(w, "{}")
	case r.Method == http.MethodPost:
		s.evicted = !s.stuck
		io.WriteString(w, "{}")
	case r.URL.Path == "/api/v1/pods" && !s.evicted:
		io.WriteString(w, `{"items": [{"metadata": {"namespace": "default", "name": "web", "uid": "1"}}]}`)
	case r.URL.Path == "/api/v1/pods":
		io.WriteString(w, `{"items": []}`)
	default:
		fmt.Fprintf(w, `{"metadata": {"name": "n1"}, "spec": {"unschedulable": %t}, "status": {
			"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"bootID": "boot-%t"}}}`, s.cordoned, s.evicted)
	}
}

// TestRebootDrained also shows that the API is reached through the user's kubeconfig: the endpoint in the node's kubeconfig does not
// exist.
func TestRebootDrained(t *testing.T) {
	const (
		patch = "PATCH /api/v1/nodes/n1"
		evict = "POST /api/v1/namespaces/default/pods/web/eviction"
		first = "172.20.0.2: "
	)

	for _, tt := range []struct {
		name     string
		server   *kubeServer
		args     []string
		exit     int
		stderr   []string
		calls    []string
		cordoned bool
	}{
		{
			name: "drains", server: &kubeServer{}, calls: []string{patch, evict, patch},
			stderr: []string{
				first + "cordoned node n1", first + "evicting pod default/web", first + "booted", first + "running", first + "node n1 is ready",
			},
		},
		{
			name: "cordoned before", server: &kubeServer{cordoned: true}, calls: []string{evict}, cordoned: true,
			stderr: []string{first + "evicting pod default/web", first + "booted", first + "running", first + "node n1 is ready"},
		},
		{
			name: "one after the other", server: &kubeServer{}, args: []string{"-n", "172.20.0.2,172.20.0.9,172.20.0.3"}, calls: []string{patch, evict, patch}, exit: 1,
			stderr: []string{first + "node n1 is ready", "172.20.0.9", "172.20.0.3: not rebooted, since 172.20.0.9 failed"},
		},
		{
			name: "no time", server: &kubeServer{stuck: true}, args: []string{"--drain-timeout", "1s"}, calls: []string{patch, evict, patch}, exit: 1,
			stderr: []string{first + "drain: timed out (--drain-timeout) with pods left: pod default/web: it was evicted"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kube := httptest.NewTLSServer(tt.server)
			defer kube.Close()

			node, other, down := newNode("172.20.0.2"), newNode("172.20.0.3"), newNode("172.20.0.9")
			down.SetDown(true)

			authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kube.Certificate().Raw}))
			node.Kubeconfig = strings.Replace(kubeconfigOf("demo"), "    server:", "    certificate-authority-data: "+authority+"\n    server:", 1)
			node.Resources = append(node.Resources, clienttest.Resource("k8s", "Nodenames.kubernetes.talos.dev", "nodename", "nodename: n1\n"))

			own := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(own, []byte(strings.Replace(node.Kubeconfig, "https://172.20.0.2:6443", kube.URL, 1)), 0o600); err != nil {
				t.Fatal(err)
			}

			t.Setenv("KUBECONFIG", own)

			if tt.args == nil || tt.args[0] != "-n" {
				tt.args = append(tt.args, "-n", "172.20.0.2")
			}

			r := talosctl(t, clienttest.Start(t, map[string]*clienttest.Node{"": node, "172.20.0.2": node, "172.20.0.3": other, "172.20.0.9": down}),
				append([]string{"reboot", "--drain"}, tt.args...)...)

			inOrder(t, r.stderr, tt.stderr)

			if r.exit != tt.exit {
				t.Errorf("got exit status %d, want %d", r.exit, tt.exit)
			}

			if diff := cmp.Diff(tt.calls, tt.server.calls); diff != "" {
				t.Errorf("changes in Kubernetes (-want +got):\n%s", diff)
			}

			if tt.server.cordoned != tt.cordoned {
				t.Errorf("the node is cordoned afterwards: %t, want %t", tt.server.cordoned, tt.cordoned)
			}
		})
	}
}

// TestRebootDrainedInterrupted: after Ctrl-C while the node is down, the command says that it is still cordoned.
func TestRebootDrainedInterrupted(t *testing.T) {
	server := &kubeServer{}

	kube := httptest.NewTLSServer(server)
	defer kube.Close()

	node := newNode("172.20.0.2")

	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kube.Certificate().Raw}))
	node.Kubeconfig = strings.Replace(strings.Replace(kubeconfigOf("demo"), "https://172.20.0.2:6443", kube.URL, 1),
		"    server:", "    certificate-authority-data: "+authority+"\n    server:", 1)
	node.Resources = append(node.Resources, clienttest.Resource("k8s", "Nodenames.kubernetes.talos.dev", "nodename", "nodename: n1\n"))
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))

	useContext(t, clienttest.Start(t, map[string]*clienttest.Node{"": node, "172.20.0.2": node}))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var stderr bytes.Buffer

	root := New()
	root.SetArgs([]string{"reboot", "--drain", "-n", "172.20.0.2"})

	exit := Run(ctx, root, writerFunc(func(p []byte) (int, error) {
		if stderr.Write(p); strings.Contains(stderr.String(), "booted") {
			cancel()
		}

		return len(p), nil
	}))

	const want = "interrupted: 172.20.0.2: node n1 is still cordoned: when it is back, run kubectl uncordon n1\n"
	if exit != exitInterrupted || !strings.HasSuffix(stderr.String(), want) || !server.cordoned {
		t.Errorf("got exit status %d, cordoned %t and\n%s\nwant it to end with %q", exit, server.cordoned, &stderr, want)
	}
}

func TestRebootDebug(t *testing.T) {
	r := talosctl(t, startCluster(t), "reboot", "--debug", "--wait=false", "-n", "172.20.0.2")

	for _, want := range []string{"172.20.0.2: kern:    info: [2026-11-21T09:30:00Z]: Linux version 6.1\n", "172.20.0.2: running\n"} {
		if !strings.Contains(r.stderr, want) || r.exit != 0 {
			t.Errorf("got exit status %d, stderr:\n%s\nwant %q in it", r.exit, r.stderr, want)
		}
	}
}
