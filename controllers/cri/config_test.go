// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hostsconfig "github.com/containerd/containerd/v2/core/remotes/docker/config"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/service/container"
)

// TestRenderHosts checks which hosts containerd tries for an image, with containerd's own parser of the files.
func TestRenderHosts(t *testing.T) {
	const cache = "http://127.0.0.1:3172/v2"

	yes := true
	mirrors := func(name string, mirror v1alpha1.RegistryMirror) v1alpha1.RegistriesConfig {
		return v1alpha1.RegistriesConfig{Mirrors: map[string]v1alpha1.RegistryMirror{name: mirror}}
	}
	trusting := func(host string) map[string]v1alpha1.RegistryAccess {
		return map[string]v1alpha1.RegistryAccess{host: {TLS: &v1alpha1.RegistryTLS{InsecureSkipVerify: &yes}}}
	}

	for _, tt := range []struct {
		name       string
		registries v1alpha1.RegistriesConfig
		registry   string
		want       []string
	}{
		{"nothing configured", v1alpha1.RegistriesConfig{}, "r.example", []string{cache, "https://r.example/v2"}},
		{"Docker's", v1alpha1.RegistriesConfig{}, "docker.io", []string{cache, "https://registry-1.docker.io/v2"}},
		{
			"a mirror", mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example:5000"}}), "r.example",
			[]string{cache, "https://m.example:5000/v2", "https://r.example/v2"},
		},
		{
			"a mirror of Docker's", mirrors("docker.io", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example:5000"}}), "docker.io",
			[]string{cache, "https://m.example:5000/v2", "https://registry-1.docker.io/v2"},
		},
		{
			"a mirror with a path of its own", mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example/x"}, OverridePath: &yes}),
			"r.example", []string{cache, "https://m.example/x", "https://r.example/v2"},
		},
		{
			"a mirror alone", mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://a.example", "http://b.example"}, SkipFallback: &yes}),
			"r.example", []string{cache, "https://a.example/v2", "http://b.example/v2"},
		},
		{
			"a mirror of everything, alone", mirrors("*", v1alpha1.RegistryMirror{Endpoints: []string{"https://a.example"}, SkipFallback: &yes}),
			"docker.io", []string{cache, "https://a.example/v2"},
		},
		{
			"the image cache alone", mirrors("*", v1alpha1.RegistryMirror{SkipFallback: &yes}), "r.example", []string{cache},
		},
		{
			"an unverified registry", v1alpha1.RegistriesConfig{Config: trusting("r.example")}, "r.example", []string{cache, "https://r.example/v2 unverified"},
		},
		{
			"Docker's, unverified", v1alpha1.RegistriesConfig{Config: trusting("registry-1.docker.io")}, "docker.io",
			[]string{cache, "https://registry-1.docker.io/v2 unverified"},
		},
		{
			"an unverified mirror", v1alpha1.RegistriesConfig{
				Mirrors: mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example"}, SkipFallback: &yes}).Mirrors,
				Config:  trusting("m.example"),
			}, "r.example", []string{cache, "https://m.example/v2 unverified"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, err := renderHosts(tt.registries)
			if err != nil {
				t.Fatal(err)
			}

			dir := t.TempDir()

			for path, content := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
					t.Fatal(err)
				}

				if err := os.WriteFile(filepath.Join(dir, path), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}

			hosts, err := hostsconfig.ConfigureHosts(t.Context(), hostsconfig.HostOptions{HostDir: hostsconfig.HostDirFromRoot(dir)})(tt.registry)
			if err != nil {
				t.Fatal(err)
			}

			var got []string

			for _, host := range hosts {
				text := host.Scheme + "://" + host.Host + host.Path
				if transport, ok := host.Client.Transport.(*http.Transport); ok && transport.TLSClientConfig.InsecureSkipVerify {
					text += " unverified"
				}

				got = append(got, text)
			}

			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("want (-), got (+):\n%s", d)
			}
		})
	}
}

func TestRenderHostsRefusesBadEndpoint(t *testing.T) {
	_, err := renderHosts(v1alpha1.RegistriesConfig{Mirrors: map[string]v1alpha1.RegistryMirror{"docker.io": {Endpoints: []string{"mirror"}}}})
	if err == nil || !strings.Contains(err.Error(), "machine.registries.mirrors[docker.io].endpoints") {
		t.Errorf("got %v, want an error that names the path", err)
	}
}

func TestRenderConfigIsTOML(t *testing.T) {
	raw, err := renderConfig(metal)
	if err != nil {
		t.Fatal(err)
	}

	var decoded struct {
		Version int
		Root    string
	}

	if err := toml.Unmarshal(raw, &decoded); err != nil || decoded.Version != 3 || decoded.Root != rootDir {
		t.Errorf("got %+v (%v)", decoded, err)
	}
}

// metal is a machine with its own kernel.
var metal = place{snapshotter: container.Overlayfs, ownKernel: true}
