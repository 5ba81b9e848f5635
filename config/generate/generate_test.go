// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/overlay"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/pki"
)

func generated(t *testing.T, opts generate.Options) *generate.Output {
	t.Helper()

	opts.Secrets = configtest.Bundle(t)

	out, err := generate.New("demo", "https://10.5.0.2:6443", "", opts)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// ours are the differences between the files of existing clients and ours: random values, and the sources and
// versions of images.
var ours = []struct{ pattern, with string }{
	{`(token|id|secret|secretboxEncryptionSecret): .+`, `$1: RANDOM`},
	{`image: .*/(kubelet|installer|kube-[a-z-]+):v.+`, `image: $1`},
}

func comparable(text []byte) string {
	for _, o := range ours {
		text = regexp.MustCompile(o.pattern).ReplaceAll(text, []byte(o.with))
	}

	return strings.TrimSpace(string(text))
}

func TestLikeExistingClients(t *testing.T) {
	out := generated(t, generate.Options{})

	if diff := cmp.Diff(comparable(configtest.ControlPlane(t)), comparable(out.ControlPlane)); diff != "" {
		t.Errorf("control plane (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(comparable(configtest.Worker(t)), comparable(out.Worker)); diff != "" {
		t.Errorf("worker (-want +got):\n%s", diff)
	}
}

func TestGeneratedIsValid(t *testing.T) {
	mirror := map[string][]string{"docker.io": {"http://127.0.0.1:5000"}}

	for _, test := range []struct {
		name string
		opts generate.Options
	}{
		{"defaults", generate.Options{}},
		{"everything", generate.Options{
			AdditionalSANs: []string{"api.example", "192.0.2.1"}, DNSDomain: "example.local", InstallDisk: "/dev/vda",
			InstallImage: "example.org/installer:v1", RegistryMirrors: mirror, LocalAPIServerPort: 7443,
			PodSubnets:                     []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fc00:db8:10::/56")},
			ServiceSubnets:                 []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16"), netip.MustParsePrefix("fc00:db8:20::/112")},
			AllowSchedulingOnControlPlanes: true,
		}},
		{"no discovery", generate.Options{NoClusterDiscovery: true}},
	} {
		for contract := generate.Oldest; contract <= generate.Newest; contract++ {
			t.Run(test.name+" "+contract.String(), func(t *testing.T) {
				test.opts.Contract = contract
				out := generated(t, test.opts)

				for role, text := range map[string][]byte{"controlplane": out.ControlPlane, "worker": out.Worker} {
					cfg := decode(t, text)

					for _, mode := range []validate.Mode{validate.Metal, validate.Cloud, validate.Container} {
						if paths := wrong(t, cfg, mode); len(paths) > 0 {
							t.Errorf("%s in mode %s: %q", role, mode, paths)
						}
					}

					if got := view.Of(cfg).Type().String(); got != role {
						t.Errorf("type: got %s, want %s", got, role)
					}
				}
			})
		}
	}
}

func TestWorkerHoldsNoKeys(t *testing.T) {
	for contract := generate.Oldest; contract <= generate.Newest; contract++ {
		t.Run(contract.String(), func(t *testing.T) { workerHoldsNoKeys(t, generated(t, generate.Options{Contract: contract})) })
	}
}

func workerHoldsNoKeys(t *testing.T, out *generate.Output) {
	t.Helper()

	bundle := out.Secrets

	for name, secret := range map[string]string{
		"secretbox": bundle.Secrets.SecretboxSecret,
		"OS":        fmt.Sprintf("%x", bundle.Certs.OS.Key), "service account": string(bundle.Certs.ServiceAccount.Key),
	} {
		if strings.Contains(string(out.Worker), secret) {
			t.Errorf("the worker's configuration has the %s key", name)
		}
	}

	cfg, err := config.Decode(out.Worker)
	if err != nil {
		t.Fatal(err)
	}

	if strings.Contains(string(out.Worker), "PRIVATE KEY") {
		t.Error("the worker's configuration has a private key")
	}

	main, _ := overlay.Of(cfg)
	cluster := main.Cluster

	for name, key := range map[string][]byte{"machine.ca": view.Of(cfg).MachineCA().Key, "cluster.ca": cluster.CA.Key, "aggregatorCA": cluster.AggregatorCA.Key, "etcd.ca": cluster.Etcd.CA.Key, "serviceAccount": cluster.ServiceAccount.Key} {
		if len(key) > 0 {
			t.Errorf("%s has its key on a worker", name)
		}
	}
}

func TestTalosconfig(t *testing.T) {
	out := generated(t, generate.Options{Endpoints: []string{"10.5.0.2"}, Nodes: []string{"10.5.0.3"}})

	client, err := talosconfig.Decode(out.Talosconfig)
	if err != nil {
		t.Fatal(err)
	}

	context, err := client.Find("")
	if err != nil {
		t.Fatal(err)
	}

	if client.Context != "demo" || !slices.Equal(context.Endpoints, []string{"10.5.0.2"}) || !slices.Equal(context.Nodes, []string{"10.5.0.3"}) {
		t.Errorf("got context %q, %v, %v", client.Context, context.Endpoints, context.Nodes)
	}

	if _, err := (pki.Pair{Crt: context.Crt, Key: context.Key}).TLS(); err != nil {
		t.Error(err)
	}

	cert, err := pki.ParseCertificate(context.Crt)
	if err != nil {
		t.Fatal(err)
	}

	roots, err := pki.Pool(context.CA)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}

	if got, want := cert.Subject.Organization, []string{contract.RoleAdmin}; !slices.Equal(got, want) {
		t.Errorf("roles: got %q, want %q", got, want)
	}

	if got, want := cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}; !slices.Equal(got, want) {
		t.Errorf("usages: got %v, want %v", got, want)
	}

	if life := time.Until(cert.NotAfter); (life - generate.ClientLifetime).Abs() > time.Minute {
		t.Errorf("lifetime: got %s, want %s", life, generate.ClientLifetime)
	}
}

func TestPatchesByRole(t *testing.T) {
	load := func(text string) []patch.Patch {
		patches, err := patch.Load([]string{text})
		if err != nil {
			t.Fatal(err)
		}

		return patches
	}

	out := generated(t, generate.Options{
		Patches:             load("machine: {sysctls: {a: all}}"),
		ControlPlanePatches: load("machine: {sysctls: {a: cp}}"),
		WorkerPatches:       load("machine: {sysctls: {b: worker}}"),
	})

	for _, test := range []struct {
		text []byte
		want map[string]string
	}{
		{out.ControlPlane, map[string]string{"a": "cp"}},
		{out.Worker, map[string]string{"a": "all", "b": "worker"}},
	} {
		cfg, err := config.Decode(test.text)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(test.want, view.Of(cfg).Sysctls()); diff != "" {
			t.Errorf("sysctls (-want +got):\n%s", diff)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct{ version, want string }{
		{"", images.DefaultKubelet},
		{"1.36.1", images.Kubelet + ":v1.36.1"},
		{"v1.35.0", images.Kubelet + ":v1.35.0"},
	} {
		out, err := generate.New("demo", "https://10.5.0.2:6443", test.version, generate.Options{Secrets: configtest.Bundle(t)})
		if err != nil {
			t.Fatal(err)
		}

		cfg, err := config.Decode(out.Worker)
		if err != nil {
			t.Fatal(err)
		}

		if got := view.Of(cfg).Kubelet().Image; got != test.want {
			t.Errorf("%q: got %q, want %q", test.version, got, test.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, test := range []struct{ name, cluster, endpoint, version, want string }{
		{"no name", "", "https://a:6443", "", "cluster name"},
		{"a name with a slash", "a/b", "https://a:6443", "", "cluster name"},
		{"no scheme", "demo", "10.5.0.2", "", `did you mean "https://10.5.0.2:6443"?`},
		{"no scheme, with port", "demo", "10.5.0.2:6443", "", `did you mean "https://10.5.0.2:6443"?`},
		{"http", "demo", "http://10.5.0.2:6443", "", "want https"},
		{"bad port", "demo", "https://10.5.0.2:99999", "", "6443"},
		{"bad version", "demo", "https://10.5.0.2:6443", "latest", "Kubernetes version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := generate.New(test.cluster, test.endpoint, test.version, generate.Options{Secrets: configtest.Bundle(t)})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestRefusesOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		opts generate.Options
		want string
	}{
		{"an old contract", generate.Options{Contract: 11}, "contract v1.11: want v1.12 to v1.14"},
		{"a new contract", generate.Options{Contract: 15}, "contract v1.15"},
		{"a mirror", generate.Options{Contract: generate.Documents, RegistryMirrors: map[string][]string{"a.example": {"b"}}}, "mirror of the registry a.example"},
		{"a name", generate.Options{Contract: generate.Documents, AdditionalSANs: []string{"a b"}}, "certExtraSANs"},
	} {
		test.opts.Secrets = configtest.Bundle(t)

		if _, err := generate.New("demo", "https://10.5.0.2:6443", "", test.opts); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}
}
