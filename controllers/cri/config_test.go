// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	hostsconfig "github.com/containerd/containerd/v2/core/remotes/docker/config"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/resources/cri"
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
		uncached   bool
	}{
		{name: "nothing configured", registry: "r.example", want: []string{cache, "https://r.example/v2"}},
		{name: "Docker's", registry: "docker.io", want: []string{cache, "https://registry-1.docker.io/v2"}},
		{name: "no image cache", registry: "r.example", want: []string{"https://r.example/v2"}, uncached: true},
		{
			name: "no image cache and no registry", registries: mirrors("*", v1alpha1.RegistryMirror{SkipFallback: &yes}),
			registry: "r.example", want: []string{cache}, uncached: true, // where nothing listens
		},
		{
			name: "an endpoint twice", registries: mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example", "https://m.example"}}),
			registry: "r.example", want: []string{cache, "https://m.example/v2", "https://r.example/v2"},
		},
		{
			name: "a mirror without TLS, whose host has settings of TLS", registry: "r.example",
			registries: v1alpha1.RegistriesConfig{
				Mirrors: mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"http://m.example:5000"}}).Mirrors,
				Config:  trusting("m.example:5000"),
			},
			want: []string{cache, "http://m.example:5000/v2", "https://r.example/v2"},
		},
		{
			name: "a mirror", registries: mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example:5000"}}), registry: "r.example",
			want: []string{cache, "https://m.example:5000/v2", "https://r.example/v2"},
		},
		{
			name: "a mirror of Docker's", registries: mirrors("docker.io", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example:5000"}}), registry: "docker.io",
			want: []string{cache, "https://m.example:5000/v2", "https://registry-1.docker.io/v2"},
		},
		{
			name: "a mirror with a path of its own", registries: mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example/x"}, OverridePath: &yes}),
			registry: "r.example", want: []string{cache, "https://m.example/x", "https://r.example/v2"},
		},
		{
			name: "a mirror alone", registries: mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://a.example", "http://b.example"}, SkipFallback: &yes}),
			registry: "r.example", want: []string{cache, "https://a.example/v2", "http://b.example/v2"},
		},
		{
			name: "a mirror of everything, alone", registries: mirrors("*", v1alpha1.RegistryMirror{Endpoints: []string{"https://a.example"}, SkipFallback: &yes}),
			registry: "docker.io", want: []string{cache, "https://a.example/v2"},
		},
		{
			name: "the image cache alone", registries: mirrors("*", v1alpha1.RegistryMirror{SkipFallback: &yes}), registry: "r.example", want: []string{cache},
		},
		{
			name: "an unverified registry", registries: v1alpha1.RegistriesConfig{Config: trusting("r.example")}, registry: "r.example",
			want: []string{cache, "https://r.example/v2 unverified"},
		},
		{
			name: "any registry, unverified", registries: v1alpha1.RegistriesConfig{Config: trusting("*")}, registry: "r.example",
			want: []string{cache, "https://r.example/v2 unverified"},
		},
		{
			name: "any registry, unverified, and a mirror", registries: v1alpha1.RegistriesConfig{
				Mirrors: mirrors("docker.io", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example", "https://own.example"}}).Mirrors,
				Config:  map[string]v1alpha1.RegistryAccess{"*": trusting("*")["*"], "own.example": {TLS: &v1alpha1.RegistryTLS{}}},
			}, registry: "docker.io",
			want: []string{cache, "https://m.example/v2 unverified", "https://own.example/v2", "https://registry-1.docker.io/v2 unverified"},
		},
		{
			name: "Docker's, unverified", registries: v1alpha1.RegistriesConfig{Config: trusting("registry-1.docker.io")}, registry: "docker.io",
			want: []string{cache, "https://registry-1.docker.io/v2 unverified"},
		},
		{
			name: "an unverified mirror", registries: v1alpha1.RegistriesConfig{
				Mirrors: mirrors("r.example", v1alpha1.RegistryMirror{Endpoints: []string{"https://m.example"}, SkipFallback: &yes}).Mirrors,
				Config:  trusting("m.example"),
			}, registry: "r.example", want: []string{cache, "https://m.example/v2 unverified"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, first := t.TempDir(), cacheURL
			if tt.uncached {
				first = ""
			}

			if err := writeHosts(dir, settings.Registries(tt.registries, first), ""); err != nil {
				t.Fatal(err)
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
	bad := v1alpha1.RegistriesConfig{Mirrors: map[string]v1alpha1.RegistryMirror{"docker.io": {Endpoints: []string{"mirror"}}}}

	_, err := renderHosts(settings.Registries(bad, ""), "")
	if err == nil || !strings.Contains(err.Error(), `registry docker.io: mirror "mirror"`) {
		t.Errorf("got %v, want an error that names the mirror", err)
	}

	// containerd starts with these names, which no image has.
	for _, name := range []string{"../x", "..", ".", "a/b", ""} {
		files, err := renderHosts(cri.RegistriesConfigSpec{RegistryTLSs: map[string]cri.RegistryTLSConfig{name: {}}}, "")
		if _, ok := files["_default/hosts.toml"]; err != nil || len(files) != 1 || !ok {
			t.Errorf("%q: got %q, %v", name, files, err)
		}
	}
}

func TestRenderConfigIsTOML(t *testing.T) {
	raw, err := renderConfig(metal, chosen{})
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

// TestCustomize checks that a part enables a plugin by configuring it, as users do with NRI, and can disable others.
func TestCustomize(t *testing.T) {
	const nri, btrfs = "io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.btrfs"

	for _, tt := range []struct {
		name, part   string
		nri, another bool // disabled
	}{
		{name: "no part", nri: true},
		{name: "another plugin", part: "[plugins.'io.containerd.cri.v1.images']\nmax_concurrent_downloads = 5", nri: true},
		{name: "the plugin", part: "[plugins.'" + nri + "']\ndisable = false"},
		{name: "the plugin, disabled", part: "disabled_plugins = ['" + nri + "', 'a']\n[plugins.'" + nri + "']\ndisable = false", nri: true, another: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := renderConfig(metal, chosen{customization: tt.part})
			if err != nil {
				t.Fatal(err)
			}

			var decoded struct {
				Disabled []string `toml:"disabled_plugins"`
			}

			if err := toml.Unmarshal(raw, &decoded); err != nil {
				t.Fatal(err)
			}

			has := func(id string) bool { return slices.Contains(decoded.Disabled, id) }
			if has(nri) != tt.nri || has("a") != tt.another || !has(btrfs) {
				t.Errorf("got %q", decoded.Disabled)
			}
		})
	}
}

// metal is a machine with its own kernel.
var metal = place{snapshotter: container.Overlayfs, ownKernel: true}
