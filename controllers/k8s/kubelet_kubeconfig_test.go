// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// TestNameServer checks that the kubelet's kubeconfig, as the kubelet writes it, gets the name of API servers once.
func TestNameServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")

	if err := os.WriteFile(path, []byte(`apiVersion: v1
kind: Config
current-context: default-context
clusters: [{name: default-cluster, cluster: {server: "https://127.0.0.1:7445", certificate-authority-data: aGVsbG8=}}]
contexts: [{name: default-context, context: {cluster: default-cluster, namespace: default, user: default-auth}}]
users: [{name: default-auth, user: {client-certificate: /var/lib/kubelet/pki/c.pem, client-key: /var/lib/kubelet/pki/c.pem}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}

	var before os.FileInfo

	for range 2 {
		if err := nameServer(path, "api.example"); err != nil {
			t.Fatal(err)
		}

		file, err := kubeconfig.Read(path)
		if err != nil {
			t.Fatal(err)
		}

		cluster, user := file.Clusters[0].Cluster, file.Users[0].User
		if cluster.TLSServerName != "api.example" || cluster.Server != "https://127.0.0.1:7445" || user.CrtFile != "/var/lib/kubelet/pki/c.pem" {
			t.Errorf("got %+v and %+v", cluster, user)
		}

		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v, want a private file", info, err)
		}

		if before != nil && !os.SameFile(before, info) {
			t.Error("a file that has the name was written again")
		}

		before = info
	}
}
