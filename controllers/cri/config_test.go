// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/sys/container"
)

func TestRenderHosts(t *testing.T) {
	yes := true

	for _, tt := range []struct {
		name       string
		registries v1alpha1.RegistriesConfig
		want       map[string]string
	}{
		{"nothing configured", v1alpha1.RegistriesConfig{}, map[string]string{
			"_default/hosts.toml": "[host.\"http://127.0.0.1:3172\"]\ncapabilities = ['pull', 'resolve']\n\n",
		}},
		{"a mirror", v1alpha1.RegistriesConfig{
			Mirrors: map[string]v1alpha1.RegistryMirror{"docker.io": {Endpoints: []string{"https://mirror.example:5000/v2/x"}, OverridePath: &yes}},
			Config:  map[string]v1alpha1.RegistryAccess{"mirror.example:5000": {TLS: &v1alpha1.RegistryTLS{InsecureSkipVerify: &yes}}},
		}, map[string]string{
			"_default/hosts.toml":            "[host.\"http://127.0.0.1:3172\"]\ncapabilities = ['pull', 'resolve']\n\n",
			"mirror.example:5000/hosts.toml": "server = \"https://mirror.example:5000\"\n\n[host.\"http://127.0.0.1:3172\"]\ncapabilities = ['pull', 'resolve']\n\n",
			"docker.io/hosts.toml": "server = \"https://docker.io\"\n\n[host.\"http://127.0.0.1:3172\"]\ncapabilities = ['pull', 'resolve']\n\n" +
				"[host.\"https://mirror.example:5000/v2/x\"]\ncapabilities = ['pull', 'resolve']\noverride_path = true\nskip_verify = true\n\n",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, err := renderHosts(tt.registries)
			if err != nil {
				t.Fatal(err)
			}

			got := map[string]string{}

			for path, content := range files {
				got[path] = string(content)

				var decoded map[string]any
				if err := toml.Unmarshal(content, &decoded); err != nil {
					t.Errorf("%s: %v", path, err)
				}
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

// metal is a machine that has the kernel for itself.
var metal = place{snapshotter: container.Overlayfs, ownKernel: true}
