// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// TestForUser checks how the cluster with the authority "ca" (Y2E=) is reached, according to the user's files.
func TestForUser(t *testing.T) {
	const (
		forwarded = "clusters: [{name: a, cluster: {server: 'https://a', certificate-authority-data: Y2E=, tls-server-name: n, proxy-url: 'socks5://p'}}]\n"
		byFile    = "clusters: [{name: b, cluster: {server: 'https://b', certificate-authority: ca.pem}}]\n"
		another   = "clusters: [{name: a, cluster: {server: 'https://x', certificate-authority-data: eA==}}]\n"
		useB      = "contexts: [{name: c, context: {cluster: b, user: u}}]\ncurrent-context: c\n"
	)

	for _, tt := range []struct {
		name     string
		files    []string
		endpoint string
		proxy    string // of the environment
		want     kubeconfig.Config
	}{
		{name: "no file", want: kubeconfig.Config{Server: "https://node"}},
		{name: "another cluster", files: []string{another}, want: kubeconfig.Config{Server: "https://node"}},
		{name: "the cluster", files: []string{forwarded}, want: kubeconfig.Config{Server: "https://a", TLSServerName: "n", ProxyURL: "socks5://p"}},
		{name: "authority in a file", files: []string{byFile}, want: kubeconfig.Config{Server: "https://b"}},
		{name: "two ways, one in use", files: []string{forwarded, byFile + useB}, want: kubeconfig.Config{Server: "https://b"}},
		{name: "two ways, none in use", files: []string{byFile, forwarded}, want: kubeconfig.Config{Server: "https://b"}},
		{name: "the first of a name counts", files: []string{another, forwarded}, want: kubeconfig.Config{Server: "https://node"}},
		{name: "no kubeconfig", files: []string{forwarded, "kind: Pod\n"}, want: kubeconfig.Config{Server: "https://node"}},
		{name: "endpoint", files: []string{forwarded}, endpoint: "https://e", want: kubeconfig.Config{Server: "https://e", ProxyURL: "socks5://p"}},
		{name: "proxy of the environment", files: []string{byFile}, proxy: "http://env", want: kubeconfig.Config{Server: "https://b", ProxyURL: "http://env"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			list := filepath.Join(dir, "none")

			for i, text := range tt.files {
				path := filepath.Join(dir, string(rune('0'+i)))
				list += string(os.PathListSeparator) + path

				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("ca\n"), 0o600); err != nil {
				t.Fatal(err)
			}

			t.Setenv("KUBECONFIG", list)

			// net/http reads the environment once in each process.
			defer kubeconfig.SetEnvironmentProxy(tt.proxy)()

			tt.want.CA = []byte("ca")

			got := kubeconfig.ForUser(kubeconfig.Config{Server: "https://node", CA: []byte("ca")}, tt.endpoint)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUserPath(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)

	for list, want := range map[string]string{
		"":                                  filepath.Join(home, ".kube", "config"),
		string(os.PathListSeparator) + "/a": "/a",
		"/a" + string(os.PathListSeparator) + "b": "/a",
	} {
		t.Setenv("KUBECONFIG", list)

		if got, err := kubeconfig.UserPath(); err != nil || got != want {
			t.Errorf("KUBECONFIG=%s: got %s, %v; want %s", list, got, err, want)
		}
	}
}
