// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

func kubeconfigOf(cluster string) string {
	return `apiVersion: v1
kind: Config
clusters:
- name: ` + cluster + `
  cluster:
    server: https://172.20.0.2:6443
users:
- name: admin@` + cluster + `
  user:
    token: secret
contexts:
- name: admin@` + cluster + `
  context:
    cluster: ` + cluster + `
    user: admin@` + cluster + `
    namespace: default
current-context: admin@` + cluster + `
`
}

func TestKubeconfig(t *testing.T) {
	s := startCluster(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeconfig")

	if r := talosctl(t, s, "kubeconfig", "-n", "172.20.0.2", "--merge=false", "-"); r.stdout != kubeconfigOf("demo") || r.exit != 0 {
		t.Errorf("to standard output: got %+v", r)
	}

	if r := talosctl(t, s, "kubeconfig", "-n", "172.20.0.2", "--merge=false", dir); r.exit != 0 {
		t.Errorf("into a directory: got %+v", r)
	}

	if got, err := os.ReadFile(file); err != nil || string(got) != kubeconfigOf("demo") {
		t.Errorf("into a directory: got %q, %v", got, err)
	}

	if r := talosctl(t, s, "kubeconfig", "-n", "172.20.0.2", "--merge=false", file); r.exit != 1 || !strings.Contains(r.stderr, "--force") {
		t.Errorf("over a file: got %+v, want a refusal that names --force", r)
	}

	if r := talosctl(t, s, "kubeconfig", "-n", "172.20.0.2", "--merge=false", "-f", file); r.exit != 0 {
		t.Errorf("over a file by force: got %+v", r)
	}

	if r := talosctl(t, s, "kubeconfig", "-n", "172.20.0.2", "--merge=false", "-f", "--force-context-name", "mine", file); r.exit != 1 || !strings.Contains(r.stderr, "does not go with --merge=false") {
		t.Errorf("with a name that nothing gets: got %+v", r)
	}

	if r := talosctl(t, s, "kubeconfig", "-n", "172.20.0.2,172.20.0.3", file); r.exit != 1 || !strings.Contains(r.stderr, "one node") {
		t.Errorf("from two nodes: got %+v, want a refusal", r)
	}
}

func TestKubeconfigMerges(t *testing.T) {
	s := startCluster(t)
	file := filepath.Join(t.TempDir(), "deep", "config")
	t.Setenv("KUBECONFIG", file+string(os.PathListSeparator)+"/elsewhere")

	for _, args := range [][]string{{}, {}, {"--force-context-name", "mine"}} {
		if r := talosctl(t, s, append([]string{"kubeconfig", "-n", "172.20.0.2"}, args...)...); r.exit != 0 || r.stderr != "" {
			t.Fatalf("%v: got %+v", args, r)
		}
	}

	config, err := kubeconfig.Read(file)
	if err != nil {
		t.Fatal(err)
	}

	if len(config.Clusters) != 1 || len(config.Contexts) != 2 || config.CurrentContext != "mine" {
		t.Errorf("got %d clusters, contexts %v, current %q, want 1, admin@demo and mine, mine", len(config.Clusters), config.Contexts, config.CurrentContext)
	}

	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
}
