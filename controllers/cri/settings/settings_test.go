// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/resources/cri"
)

func viewOf(t *testing.T, text string) *view.Config {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return view.Of(cfg)
}

func part(name, content string) string {
	return "---\napiVersion: v1alpha1\nkind: CRICustomizationConfig\nname: " + name + "\ncontent: |\n  " + strings.ReplaceAll(content, "\n", "\n  ") + "\n"
}

// TestCustomization checks that parts are merged in the order of their names, not of the documents.
func TestCustomization(t *testing.T) {
	cfg := viewOf(t, part("b", "disabled_plugins = ['x', 'z']\n[plugins.a]\nkept = 2\nlist = [2]\n[plugins.a.deep]\nb = 1")+
		part("a", "disabled_plugins = ['x', 'y']\n[plugins.a]\nkept = 1\nlist = [1]\n[plugins.a.deep]\na = 1"))

	content, err := settings.Customization(cfg.ContainerdParts())
	if err != nil {
		t.Fatal(err)
	}

	var got map[string]any
	if err := toml.Unmarshal([]byte(content), &got); err != nil {
		t.Fatal(err)
	}

	want := map[string]any{
		"disabled_plugins": []any{"x", "y", "z"},
		"plugins": map[string]any{"a": map[string]any{
			"kept": int64(2), "list": []any{int64(2)}, "deep": map[string]any{"a": int64(1), "b": int64(1)},
		}},
	}

	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	if content, err := settings.Customization(nil); err != nil || content != "" {
		t.Errorf("no parts: got %q, %v", content, err)
	}
}

// TestCustomizationFile checks that the one file of machine.files by which older configurations customize containerd is a part, by its name.
func TestCustomizationFile(t *testing.T) {
	cfg := viewOf(t, "machine:\n  type: worker\n  files:\n  - {path: /etc/other, op: create, permissions: 0o644, content: 'x ='}\n"+
		"  - {path: /etc/cri/conf.d/20-customization.part, op: create, permissions: 0o644, content: 'a = 2'}\n"+
		part("10-a", "a = 1\nb = 1")+part("30-c", "c = 3"))

	content, err := settings.Customization(cfg.ContainerdParts())
	if err != nil {
		t.Fatal(err)
	}

	var got map[string]any
	if err := toml.Unmarshal([]byte(content), &got); err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(map[string]any{"a": int64(2), "b": int64(1), "c": int64(3)}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCheck checks what is refused before it is stored.
func TestCheck(t *testing.T) {
	overrides := func(text string) string {
		return "apiVersion: v1alpha1\nkind: CRIBaseRuntimeSpecConfig\noverrides: " + text + "\n"
	}

	const sandbox = "[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'r.example/pause:1'\n"

	for _, tt := range []struct{ name, text, path, says string }{
		{name: "a good part", text: part("a", "version = 3\n[debug]\nlevel = 'debug'")},
		{name: "not TOML", text: part("a", "a = 1\nb ="), path: "CRICustomizationConfig[a].content", says: "line 2"},
		{name: "an old version", text: part("a", "version = 2"), path: "CRICustomizationConfig[a].content", says: "want version = 3"},
		{name: "the folder of the system", text: part("a", "root = '/x'"), path: "CRICustomizationConfig[a].content", says: "[\"root\"]"},
		{name: "the socket of the system", text: part("a", "[grpc]\naddress = '/x'"), path: "CRICustomizationConfig[a].content", says: "which the system sets itself"},
		{name: "the image of sandboxes", text: part("a", sandbox)},
		{
			name: "the image of sandboxes beside rules", text: part("a", sandbox) + "---\napiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules:\n  - {image: '*', deny: true}\n",
			path: "CRICustomizationConfig[a].content", says: `"pinned_images" "sandbox"], an image that is pulled without the rules`,
		},
		{
			name: "a bad file", text: "machine: {type: worker, files: [{path: /etc/cri/conf.d/20-customization.part, op: create, permissions: 0o644, content: 'b ='}]}\n",
			path: "machine.files[0].content", says: "line 1",
		},
		{name: "another key of the socket", text: part("a", "[grpc]\nuid = 1")},
		{name: "good overrides", text: overrides("{process: {rlimits: [{type: RLIMIT_NOFILE, hard: 1024, soft: 1024}]}}")},
		{name: "an unknown key", text: overrides("{process: {rlimit: []}}"), path: "machine.baseRuntimeSpecOverrides", says: `unknown field "rlimit"`},
		{name: "a wrong type", text: overrides("{process: {cwd: 1}}"), path: "machine.baseRuntimeSpecOverrides", says: "process.cwd"},
		{name: "a bad variable", text: "machine: {type: worker, env: {'a=b': c}}\n", path: "machine.env", says: "not the name"},
		{name: "a bad proxy", text: "machine: {type: worker, env: {https_proxy: 'http://a:secret@%zz'}}\n", path: "machine.env", says: "https_proxy is not the URL of a proxy"},
		{name: "a proxy without a scheme", text: "machine: {type: worker, env: {HTTP_PROXY: 'proxy.example:3128'}}\n"},
		{name: "an unknown kind of proxy", text: "machine: {type: worker, env: {HTTP_PROXY: 'ftp://proxy.example'}}\n", path: "machine.env", says: "HTTP_PROXY is not"},
		{name: "a good variable", text: "machine: {type: worker, env: {HTTPS_PROXY: 'http://proxy.example:3128'}}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := settings.Check(viewOf(t, tt.text))

			switch {
			case tt.path == "" && len(found) > 0:
				t.Errorf("got %v, want nothing", found)
			case tt.path == "":
			case len(found) != 1 || found[0].Path != tt.path || !strings.Contains(found[0].Text, tt.says):
				t.Errorf("got %v, want %s: %s", found, tt.path, tt.says)
			}
		})
	}
}

// TestRuntimeSpec checks how overrides are merged.
func TestRuntimeSpec(t *testing.T) {
	base := &specs.Spec{
		Version: "1.2.0", Hostname: "gone",
		Process: &specs.Process{Cwd: "/", NoNewPrivileges: true, Env: []string{"A=1"}},
	}

	got, err := settings.RuntimeSpec(base, map[string]any{
		"hostname": nil,
		"process":  map[string]any{"env": []any{"B=2"}, "rlimits": []any{map[string]any{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 512}}},
	})
	if err != nil {
		t.Fatal(err)
	}

	const want = `{"ociVersion":"1.2.0","process":{"user":{"uid":0,"gid":0},"env":["B=2"],"cwd":"/",` +
		`"rlimits":[{"type":"RLIMIT_NOFILE","hard":1024,"soft":512}],"noNewPrivileges":true}}`

	if string(got) != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// TestRegistries checks that both names of Docker's registry have its login, and the place of the image cache.
func TestRegistries(t *testing.T) {
	cfg := viewOf(t, "apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: docker.io\nusername: a\npassword: b\n"+
		"---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: r.example\nendpoints: [{url: 'https://m.example', overridePath: true}]\n")
	got := settings.Registries(cfg.Registries(), "http://cache")

	login := cri.RegistryAuthConfig{RegistryUsername: "a", RegistryPassword: "b"}
	cache := cri.RegistryEndpointConfig{EndpointEndpoint: "http://cache"}
	want := cri.RegistriesConfigSpec{
		RegistryMirrors: map[string]cri.RegistryMirrorConfig{
			"*": {MirrorEndpoints: []cri.RegistryEndpointConfig{cache}},
			"r.example": {MirrorEndpoints: []cri.RegistryEndpointConfig{
				cache, {EndpointEndpoint: "https://m.example", EndpointOverridePath: true},
			}},
		},
		RegistryAuths: map[string]cri.RegistryAuthConfig{"docker.io": login, "registry-1.docker.io": login},
		RegistryTLSs:  map[string]cri.RegistryTLSConfig{},
	}

	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// FuzzDecodePart checks that a part that is accepted is merged and encoded again.
func FuzzDecodePart(f *testing.F) {
	for _, seed := range []string{"", "version = 3\n[plugins.a]\nb = [1]\n", "[[a]]\n", "a.b = 1979-05-27T07:32:00Z", "root = 1", "\"\" = 1"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		part, err := settings.DecodePart(text)
		if err != nil {
			return
		}

		merged := map[string]any{"disabled_plugins": []any{"x"}, "plugins": map[string]any{"a": map[string]any{"b": "c"}}}
		settings.Merge(merged, part)

		encoded, err := toml.Marshal(merged)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}

		if err := toml.Unmarshal(encoded, &map[string]any{}); err != nil {
			t.Errorf("%q: encoded as %q: %v", text, encoded, err)
		}
	})
}
