// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/overlay"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/validate"
)

func decode(t *testing.T, text []byte) *config.Config {
	t.Helper()

	cfg, err := config.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}

// wrong are the findings of a configuration that do not come from documents without effect.
func wrong(t *testing.T, cfg *config.Config, mode validate.Mode) (paths []string) {
	t.Helper()

	_, err := validate.Validate(cfg, mode)

	var findings validate.Findings
	if err != nil && !errors.As(err, &findings) {
		t.Fatal(err)
	}

	refused := validate.Refused(cfg)

	for _, f := range findings {
		if !slices.Contains(refused, f.Path) {
			paths = append(paths, f.Error())
		}
	}

	return paths
}

func TestParseContract(t *testing.T) {
	for _, test := range []struct {
		release string
		want    generate.Contract
	}{
		{"v1.12", 12}, {"1.12.3", 12}, {"v1.13.0-alpha.1", 13}, {"v1.14", 14}, {"v1.99", generate.Newest}, {"v2.0", generate.Newest},
		{"v1.11", 0}, {"0.14", 0}, {"new", 0}, {"", 0}, {"v1", 0}, {"v1.99999999999999999999", 0},
	} {
		got, err := generate.ParseContract(test.release)
		if got != test.want || (err == nil) != (test.want != 0) {
			t.Errorf("%q: got %d, %v, want %d", test.release, got, err, test.want)
		}
	}
}

// TestKinds compares the documents of the newest contract with those that clients of that contract generate.
func TestKinds(t *testing.T) {
	universal := []string{
		"v1alpha1", "KubeClusterConfig", "KubeNodeConfig", "KubeletConfig", "KubeNetworkConfig", "KubeAPIServerCAConfig", "KubePrismConfig",
		"HostnameConfig", "ResolverConfig", "DiscoveryIdentityConfig", "DiscoveryServiceConfig[default]", "VolumeConfig[EPHEMERAL]",
		"FilesystemTrimConfig", "SecurityProfileConfig", "UnattendedInstallConfig", "RegistryMirrorConfig[a.example]", "RegistryMirrorConfig[b.example]",
	}
	controlPlane := []string{
		"KubeAggregatorCAConfig", "KubeAdmissionControlConfig[PodSecurity]", "KubeAuditPolicyConfig", "KubeAuthenticationConfig",
		"KubeAuthorizerConfig[node]", "KubeAuthorizerConfig[rbac]", "KubeEtcdEncryptionConfig", "KubeServiceAccountConfig", "KubeAPIServerConfig",
		"KubeControllerManagerConfig", "KubeSchedulerConfig", "KubeProxyConfig", "KubeFlannelCNIConfig", "KubeCoreDNSConfig",
	}

	out := generated(t, generate.Options{
		Contract:        generate.Newest,
		RegistryMirrors: map[string][]string{"b.example": {"https://c.example"}, "a.example": {"https://d.example", "https://e.example"}},
	})

	for _, test := range []struct {
		text []byte
		want []string
	}{{out.ControlPlane, slices.Concat(universal, controlPlane)}, {out.Worker, universal}} {
		var got []string

		for _, d := range decode(t, test.text).Documents() {
			name := d.Kind()
			if d.Name() != "" {
				name += "[" + d.Name() + "]"
			}

			got = append(got, name)
		}

		slices.Sort(got)
		slices.Sort(test.want)

		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("documents (-want +got):\n%s", diff)
		}
	}
}

// TestContractsMeanTheSame compares the merged documents of all contracts.
func TestContractsMeanTheSame(t *testing.T) {
	for name, opts := range map[string]generate.Options{
		"defaults": {InstallDisk: "/dev/vda"},
		"everything": {
			AdditionalSANs: []string{"api.example", "192.0.2.1"}, DNSDomain: "example.local",
			RegistryMirrors: map[string][]string{"docker.io": {"http://127.0.0.1:5000", "https://m.example"}}, LocalAPIServerPort: 7443,
			PodSubnets:                     []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fc00:db8:10::/56")},
			ServiceSubnets:                 []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16"), netip.MustParsePrefix("fc00:db8:20::/112")},
			AllowSchedulingOnControlPlanes: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			older := generated(t, opts)

			opts.Contract = 13
			if between := generated(t, opts); !bytes.Equal(older.ControlPlane, between.ControlPlane) || !bytes.Equal(older.Worker, between.Worker) {
				t.Error("1.13 differs from 1.12")
			}

			opts.Contract = generate.Documents
			newer := generated(t, opts)

			for role, texts := range map[string][2][]byte{
				"control plane": {older.ControlPlane, newer.ControlPlane}, "worker": {older.Worker, newer.Worker},
			} {
				want, _ := overlay.Of(decode(t, texts[0]))
				got, _ := overlay.Of(decode(t, texts[1]))
				differences(want, &opts)

				diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(v1alpha1.RegistryMirror{}),
					cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }))
				if diff != "" {
					t.Errorf("%s (-1.12 +1.14):\n%s", role, diff)
				}
			}
		})
	}
}

// differences makes the documents of 1.12 say what only those of 1.14 say, and the other way round.
func differences(c *v1alpha1.Config, opts *generate.Options) {
	const role = "node-role.kubernetes.io/control-plane"

	c.Machine.Install = v1alpha1.InstallConfig{} // the UnattendedInstallConfig has no key of the v1alpha1 document
	c.Machine.Kubelet.DisableManifestsDirectory = nil
	c.Cluster.Discovery.Registries.Service.Endpoint = "https://discovery.talos.dev/"

	if !c.Machine.Type.IsControlPlane() {
		c.Cluster.ControlPlane.LocalAPIServerPort = 0 // the document of the API server is for control planes

		return
	}

	c.Machine.NodeLabels[role] = ""

	if !opts.AllowSchedulingOnControlPlanes {
		c.Machine.Taints = map[string]string{role: ":NoSchedule"}
	}

	c.Cluster.SecretboxSecret = "" // the KubeEtcdEncryptionConfig has the key
	c.Cluster.Network.CNI.Name = "flannel"
	c.Cluster.CoreDNS.Disabled = new(false)
	c.Cluster.APIServer.AuthorizationConfig = []v1alpha1.Authorizer{{Type: "Node", Name: "node"}, {Type: "RBAC", Name: "rbac"}}
}

// TestEncryption checks that the newest contract encrypts with the keys of the bundle, by the names under which they are stored.
func TestEncryption(t *testing.T) {
	bundle := *generated(t, generate.Options{}).Secrets
	bundle.Secrets.AESCBCSecret = bundle.Cluster.Secret

	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Contract: generate.Newest, Secrets: &bundle})
	if err != nil {
		t.Fatal(err)
	}

	key := func(name, secret string) any {
		return map[string]any{"keys": []any{map[string]any{"name": name, "secret": secret}}}
	}
	want := v1alpha1.Object{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
		"resources": []any{map[string]any{"resources": []any{"secrets"}, "providers": []any{
			map[string]any{"secretbox": key("key2", bundle.Secrets.SecretboxSecret)},
			map[string]any{"aescbc": key("key1", bundle.Secrets.AESCBCSecret)},
			map[string]any{"identity": map[string]any{}},
		}}},
	}

	if diff := cmp.Diff(want, config.Find[*k8s.KubeEtcdEncryptionConfig](decode(t, out.ControlPlane)).Config); diff != "" {
		t.Errorf("encryption (-want +got):\n%s", diff)
	}

	got, err := secrets.FromConfig(decode(t, out.ControlPlane))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(&bundle, got); diff != "" {
		t.Errorf("bundle that is read back (-want +got):\n%s", diff)
	}
}

func TestAccepted(t *testing.T) {
	for contract := generate.Oldest; contract <= generate.Newest; contract++ {
		refused, err := generate.Refused(contract)
		if err != nil {
			t.Fatal(err)
		}

		out := generated(t, generate.Options{Contract: contract, InstallDisk: "/dev/vda"})
		valid := true

		for _, text := range [][]byte{out.ControlPlane, out.Worker} {
			if _, err := validate.Validate(decode(t, text), validate.Metal); err != nil {
				valid = false
			}
		}

		if valid != (len(refused) == 0) {
			t.Errorf("%s: valid: %t, but refused: %q", contract, valid, refused)
		}

		if got := generate.Accepted(); valid && got < contract || !valid && got >= contract {
			t.Errorf("%s: valid: %t, but the newest that is accepted is %s", contract, valid, got)
		}
	}
}

// TestComments checks that comments change no document, and that keys, documents and examples have them.
func TestComments(t *testing.T) {
	for contract := generate.Oldest; contract <= generate.Newest; contract++ {
		plain := generated(t, generate.Options{Contract: contract})
		both := generated(t, generate.Options{Contract: contract, Docs: true, Examples: true})

		for _, texts := range [][2][]byte{{plain.ControlPlane, both.ControlPlane}, {plain.Worker, both.Worker}} {
			all := cmp.Exporter(func(reflect.Type) bool { return true })
			if diff := cmp.Diff(decode(t, texts[0]).Documents(), decode(t, texts[1]).Documents(), all); diff != "" {
				t.Errorf("%s (-without +with comments):\n%s", contract, diff)
			}

			for _, want := range []string{
				"# The role of the machine: controlplane or worker.\n", // behind a value
				"    # More names and addresses for the certificate of the machine API.\n",
				"# Names the machine, or says how it names itself.\n", // of a document
				"# acceptedCAs:\n", "# logging:\n",
			} {
				if !strings.Contains(string(texts[1]), want) {
					t.Errorf("%s: there is no %q in\n%s", contract, want, texts[1])
				}
			}

			if got, want := strings.Contains(string(texts[1]), "# kind: LinkConfig\n"), contract >= generate.Documents; got != want {
				t.Errorf("%s: examples of other documents: got %t, want %t", contract, got, want)
			}

			if got, want := strings.Contains(string(texts[1]), "# sysctls:\n"), contract < generate.Documents; got != want {
				t.Errorf("%s: examples of replaced keys: got %t, want %t", contract, got, want)
			}
		}

		if strings.Contains(string(both.ControlPlane), "# hostname: node\n") {
			t.Errorf("%s: there is an example of a key that HostnameConfig has replaced", contract)
		}

		if strings.Contains(string(both.Worker), "advertisedSubnets") {
			t.Errorf("%s: a worker has examples for control planes", contract)
		}
	}
}

// TestExamplesApply patches the newest configuration with the example of each kind: it fits beside the other documents.
func TestExamplesApply(t *testing.T) {
	out := generated(t, generate.Options{Contract: generate.Newest})

	for _, name := range config.Kinds() {
		t.Run(name, func(t *testing.T) {
			kind, _ := config.KindOf(name)

			example := kind.Example
			if name == "HostnameConfig" {
				example += "auto: off\n" // the configuration has stable
			}

			p, err := patch.Parse([]byte(example))
			if err != nil {
				t.Fatal(err)
			}

			text, err := patch.Apply(out.ControlPlane, p)
			if err != nil {
				t.Fatal(err)
			}

			for _, f := range wrong(t, decode(t, text), validate.Metal) {
				if !strings.Contains(f, "not implemented in this version") {
					t.Error(f)
				}
			}
		})
	}
}
