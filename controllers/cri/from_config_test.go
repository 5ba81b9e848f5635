// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/resources/cri"
)

// TestFromConfig checks the resources that follow from documents, and that images do not come from a disabled image cache.
func TestFromConfig(t *testing.T) {
	n := controllertest.Start(t, RegistriesConfigController(), CustomizationConfigController(), RuntimeSpecConfigController())
	n.Configure([]byte("machine: {type: worker}\n---\napiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: r.example:5000\nusername: a\npassword: b\n" +
		"---\napiVersion: v1alpha1\nkind: CRICustomizationConfig\nname: a\ncontent: oom_score = 1\n" +
		"---\napiVersion: v1alpha1\nkind: CRIBaseRuntimeSpecConfig\noverrides: {hostname: x}\n"))

	first := func(cached bool) func(cri.RegistriesConfigSpec) bool {
		return func(spec cri.RegistriesConfigSpec) bool {
			login := spec.RegistryAuths["r.example:5000"]

			return login.RegistryUsername == "a" && login.RegistryPassword == "b" && (len(spec.RegistryMirrors["*"].MirrorEndpoints) == 1) == cached
		}
	}

	controllertest.Set(n, cri.ImageCacheID, cri.ImageCacheConfigSpec{Status: cri.ImageCachePreparing})
	controllertest.Wait(n, cri.RegistriesID, first(true))
	controllertest.Set(n, cri.ImageCacheID, cri.ImageCacheConfigSpec{Status: cri.ImageCacheReady})
	controllertest.Wait(n, cri.RegistriesID, first(true))
	controllertest.Set(n, cri.ImageCacheID, cri.ImageCacheConfigSpec{Status: cri.ImageCacheDisabled})
	controllertest.Wait(n, cri.RegistriesID, first(false))

	controllertest.Wait(n, cri.CustomizationID, func(c cri.CustomizationConfigSpec) bool { return c.Content == "oom_score = 1\n" })
	controllertest.Wait(n, cri.BaseRuntimeSpecID, func(s cri.BaseRuntimeSpecConfigSpec) bool { return s.Object["hostname"] == "x" })
}

// TestCustomized checks that parts are put over the machine's own settings of containerd, and keep what they do not name.
func TestCustomized(t *testing.T) {
	raw, err := renderConfig(metal, chosen{
		baseSpec:      "/spec.json",
		auths:         map[string]cri.RegistryAuthConfig{"r.example:5000": {RegistryUsername: "a", RegistryIdentityToken: "t"}},
		customization: "disabled_plugins = ['mine']\n[plugins.'io.containerd.cri.v1.images']\ndiscard_unpacked_layers = false\n",
	})
	if err != nil {
		t.Fatal(err)
	}

	var got struct {
		Version  int
		Disabled []string `toml:"disabled_plugins"`
		Plugins  struct {
			Runtime struct {
				Containerd struct {
					Runtimes map[string]struct {
						Type string `toml:"runtime_type"`
						Spec string `toml:"base_runtime_spec"`
					}
				}
			} `toml:"io.containerd.cri.v1.runtime"`
			Images struct {
				Discard  bool `toml:"discard_unpacked_layers"`
				Registry struct {
					Path    string `toml:"config_path"`
					Configs map[string]struct{ Auth map[string]string }
				}
			} `toml:"io.containerd.cri.v1.images"`
		}
	}

	if err := toml.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}

	runc, registry := got.Plugins.Runtime.Containerd.Runtimes["runc"], got.Plugins.Images.Registry
	if got.Version != settings.ConfigVersion || runc.Spec != "/spec.json" || runc.Type == "" || got.Plugins.Images.Discard || registry.Path == "" {
		t.Errorf("got %+v", got)
	}

	if auth := registry.Configs["r.example:5000"].Auth; auth["username"] != "a" || auth["identitytoken"] != "t" {
		t.Errorf("credentials: got %v", auth)
	}

	if !slices.Contains(got.Disabled, "mine") || !slices.Contains(got.Disabled, "io.containerd.nri.v1.nri") {
		t.Errorf("disabled: got %v", got.Disabled)
	}

	if _, err := renderConfig(metal, chosen{customization: "root = '/x'"}); err == nil {
		t.Error("a part that moves the root folder is accepted")
	}
}

// TestBaseSpec checks that the specification is containerd's own except for the overrides.
func TestBaseSpec(t *testing.T) {
	raw, err := baseSpec(map[string]any{"process": map[string]any{"rlimits": []any{map[string]any{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}}}})
	if err != nil {
		t.Fatal(err)
	}

	var got specs.Spec
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}

	limits := []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Hard: 1024, Soft: 1024}}
	if !slices.Equal(got.Process.Rlimits, limits) || len(got.Mounts) < 5 || len(got.Linux.MaskedPaths) == 0 || len(got.Process.Capabilities.Bounding) == 0 {
		t.Errorf("got %s", raw)
	}
}

// TestHostsFolder checks that a change removes the certificates that are no longer used, and that only root reads the folder's files.
func TestHostsFolder(t *testing.T) {
	dir := t.TempDir()
	list := func() string {
		var names []string

		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				name := must(filepath.Rel(dir, path))
				names = append(names, name)

				if mode := must(e.Info()).Mode().Perm(); mode != 0o600 {
					t.Errorf("%s: got mode %o", name, mode)
				}
			}

			return err
		})
		if err != nil {
			t.Fatal(err)
		}

		return strings.Join(names, " ")
	}

	access := v1alpha1.RegistryAccess{TLS: &v1alpha1.RegistryTLS{
		CA: v1alpha1.Base64("ca"), ClientIdentity: &v1alpha1.CertPair{Crt: v1alpha1.Base64("crt"), Key: v1alpha1.Base64("key")},
	}}

	for _, step := range []struct {
		registries v1alpha1.RegistriesConfig
		roots      string
		want       string
	}{
		{
			v1alpha1.RegistriesConfig{Config: map[string]v1alpha1.RegistryAccess{"r.example:5000": access}}, "roots",
			"_default/hosts.toml _default/trusted-roots.pem r.example:5000/hosts.toml r.example:5000/r.example:5000.ca.pem " +
				"r.example:5000/r.example:5000.client.pem r.example:5000/trusted-roots.pem",
		},
		{
			v1alpha1.RegistriesConfig{Config: map[string]v1alpha1.RegistryAccess{"r.example:5000": {TLS: &v1alpha1.RegistryTLS{}}}}, "",
			"_default/hosts.toml r.example:5000/hosts.toml",
		},
		{v1alpha1.RegistriesConfig{}, "", "_default/hosts.toml"},
	} {
		if err := writeHosts(dir, settings.Registries(step.registries, cacheURL), step.roots); err != nil {
			t.Fatal(err)
		}

		if got := list(); got != step.want {
			t.Errorf("got  %s\nwant %s", got, step.want)
		}
	}
}
