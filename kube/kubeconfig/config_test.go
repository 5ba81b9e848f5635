// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

func TestRoundTrip(t *testing.T) {
	for name, want := range map[string]kubeconfig.Config{
		"certificate": {
			Cluster: "demo", User: "admin", Context: "admin@demo", Namespace: "default", Server: "https://x:6443",
			CA: []byte("ca"), Crt: []byte("crt"), Key: []byte("key"),
		},
		"token": {
			Cluster: "demo", User: "kubelet", Context: "c", Namespace: "n", Server: "https://x:6443", TLSServerName: "y",
			CA: []byte("ca"), Token: "abcdef.0123456789abcdef", Crt: []byte{}, Key: []byte{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := kubeconfig.Render(want)
			if err != nil {
				t.Fatal(err)
			}

			got, err := kubeconfig.Parse(text)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		config kubeconfig.Config
		err    string
	}{
		"no server":      {kubeconfig.Config{Cluster: "c", User: "u", CA: []byte("x"), Token: "t"}, `server ""`},
		"no authority":   {kubeconfig.Config{Cluster: "c", User: "u", Server: "s", Token: "t"}, "authority"},
		"no credentials": {kubeconfig.Config{Cluster: "c", User: "u", Server: "s", CA: []byte("x"), Crt: []byte("x")}, "neither a token"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := kubeconfig.Render(test.config); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}

// TestFiles checks certificates in files, as the kubelet has them.
func TestFiles(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "current.pem")
	text := []byte("clusters: [{name: c, cluster: {server: s}}]\nusers: [{name: u, user: {client-certificate: " + pem +
		", client-key: " + pem + "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n")

	if _, err := kubeconfig.Parse(text); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is missing: got error %v, want one that says so", err)
	}

	if err := os.WriteFile(pem, []byte("both"), 0o600); err != nil {
		t.Fatal(err)
	}

	if got, err := kubeconfig.Parse(text); err != nil || string(got.Crt) != "both" || string(got.Key) != "both" {
		t.Errorf("got %q, %q, %v; want the file's contents", got.Crt, got.Key, err)
	}
}

func TestParseJSON(t *testing.T) {
	config, err := kubeconfig.Parse([]byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x",
		"context": {"cluster": "c", "user": "u"}}], "clusters": [{"name": "c", "cluster": {"server": "s", "proxy-url": "http://p"}}]}`))
	if err != nil || config.Server != "s" || config.ProxyURL != "http://p" {
		t.Errorf("got %+v, %v; want server s through http://p", config, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: s}}]"))
	f.Add([]byte("users: [{user: {client-key-data: '!'}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "client-") || strings.Contains(string(text), "authority") {
			t.Skip("would read files")
		}

		if config, err := kubeconfig.Parse(text); err == nil && config.Server == "" {
			t.Error("got neither a server nor an error")
		}
	})
}
