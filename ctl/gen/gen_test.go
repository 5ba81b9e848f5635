// SPDX-License-Identifier: Apache-2.0

package gen_test

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/ctl/gen"
	"github.com/seed-59268b81/talos/pki"
)

// run runs "gen" in the working directory.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()

	return talosctl(t, append([]string{"gen"}, args...)...)
}

// talosctl runs a command of the package as the root would.
func talosctl(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()

	var out, errs bytes.Buffer

	root := &cobra.Command{Use: "talosctl", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(gen.Commands(nil)...)
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)

	err = root.Execute()

	return out.String(), errs.String(), err
}

func must(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()

	stdout, stderr, err := run(t, args...)
	if err != nil {
		t.Fatalf("gen %s: %v", strings.Join(args, " "), err)
	}

	return stdout, stderr
}

func files(t *testing.T, dir string) []string {
	t.Helper()

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	var names []string

	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}

		if mode := info.Mode().Perm(); !info.IsDir() && mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", entry.Name(), mode)
		}

		names = append(names, entry.Name())
	}

	return names
}

func TestConfig(t *testing.T) {
	t.Chdir(t.TempDir())

	_, stderr := must(t, "config", "demo", "https://10.5.0.2:6443")

	if got, want := files(t, "."), []string{"controlplane.yaml", "talosconfig", "worker.yaml"}; !slices.Equal(got, want) {
		t.Errorf("files: got %q, want %q", got, want)
	}

	for _, want := range []string{"generating PKI and tokens", "Created controlplane.yaml", "Created worker.yaml", "Created talosconfig"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("messages: got %q, want %q in it", stderr, want)
		}
	}

	before, err := os.ReadFile("controlplane.yaml")
	if err != nil {
		t.Fatal(err)
	}

	if _, _, err := run(t, "config", "demo", "https://10.5.0.2:6443"); err == nil || !strings.Contains(err.Error(), `"controlplane.yaml" already exists, use --force`) {
		t.Errorf("again: got %v", err)
	}

	must(t, "config", "demo", "https://10.5.0.2:6443", "--force")

	after, err := os.ReadFile("controlplane.yaml")
	if err != nil {
		t.Fatal(err)
	}

	if bytes.Equal(before, after) {
		t.Error("--force did not write")
	}
}

func TestConfigDestinations(t *testing.T) {
	t.Chdir(t.TempDir())

	const cluster, endpoint = "demo", "https://10.5.0.2:6443"

	for _, test := range []struct {
		name  string
		args  []string
		files []string // below the directory "out"
	}{
		{"a directory", []string{"-o", "out"}, []string{"controlplane.yaml", "talosconfig", "worker.yaml"}},
		{"two types", []string{"-o", "out", "-t", "controlplane,talosconfig"}, []string{"controlplane.yaml", "talosconfig"}},
		{"one type to a directory", []string{"-o", "out/", "-t", "worker"}, []string{"worker.yaml"}},
		{"one type to a file", []string{"-o", "out/w.yaml", "-t", "worker"}, []string{"w.yaml"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.RemoveAll("out"); err != nil {
				t.Fatal(err)
			}

			if test.name == "one type to a file" {
				if err := os.Mkdir("out", 0o755); err != nil {
					t.Fatal(err)
				}
			}

			must(t, append([]string{"config", cluster, endpoint}, test.args...)...)

			if got := files(t, "out"); !slices.Equal(got, test.files) {
				t.Errorf("files: got %q, want %q", got, test.files)
			}
		})
	}

	stdout, _ := must(t, "config", cluster, endpoint, "-t", "worker", "-o", "-")
	if cfg, err := config.Decode([]byte(stdout)); err != nil || view.Of(cfg).Type() != "worker" {
		t.Errorf("standard output: %v", err)
	}
}

func TestContracts(t *testing.T) {
	for _, test := range []struct {
		args      []string
		contract  generate.Contract
		documents int // at least
		has, not  string
	}{
		{[]string{"--talos-version", "v1.12"}, 12, 2, "nodeLabels:", "KubeNodeConfig"},
		{[]string{"--talos-version", "v1.13.1"}, 13, 2, "nodeLabels:", "KubeNodeConfig"},
		{[]string{"--talos-version", "1.14"}, 14, 25, "KubeNodeConfig", "#"},
		{nil, generate.Accepted(), 2, "type: controlplane", "#"},
		{[]string{"--with-docs"}, generate.Accepted(), 2, "# The role of the machine", "# logging:"},
		{[]string{"--with-examples"}, generate.Accepted(), 2, "# logging:", "# The role of the machine"},
	} {
		stdout, stderr := must(t, append([]string{"config", "demo", "https://10.5.0.2:6443", "-t", "controlplane", "-o", "-"}, test.args...)...)

		cfg, err := config.Decode([]byte(stdout))
		if err != nil {
			t.Fatal(err)
		}

		if got := len(cfg.Documents()); got < test.documents {
			t.Errorf("%q: got %d documents, want %d at least", test.args, got, test.documents)
		}

		if !strings.Contains(stdout, test.has) || strings.Contains(stdout, test.not) {
			t.Errorf("%q: want %q and not %q in\n%s", test.args, test.has, test.not, stdout)
		}

		if got, want := strings.Contains(stderr, "warning: machines of this release refuse"), test.contract > generate.Accepted(); got != want {
			t.Errorf("%q: a warning: got %t, want %t", test.args, got, want)
		}
	}
}

func TestSecretsMakeTheSameCluster(t *testing.T) {
	for _, release := range []string{"v1.12", "v1.14"} {
		t.Run(release, func(t *testing.T) { secretsMakeTheSameCluster(t, release) })
	}
}

func secretsMakeTheSameCluster(t *testing.T, release string) {
	t.Helper()
	t.Chdir(t.TempDir())

	must(t, "secrets")

	args := []string{"config", "demo", "https://10.5.0.2:6443", "--with-secrets", "secrets.yaml", "-t", "controlplane", "-o", "-", "--talos-version", release}
	first, stderr := must(t, args...)
	second, _ := must(t, args...)

	if first != second {
		t.Error("the same secrets gave two configurations")
	}

	if strings.Contains(stderr, "generating PKI") {
		t.Errorf("got %q with given secrets", stderr)
	}

	if err := os.WriteFile("cp.yaml", []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}

	must(t, "secrets", "--from-controlplane-config", "cp.yaml", "-o", "again.yaml")

	one, err := os.ReadFile("secrets.yaml")
	if err != nil {
		t.Fatal(err)
	}

	two, err := os.ReadFile("again.yaml")
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(one, two) {
		t.Error("the secrets of a configuration differ from those that it was generated with")
	}

	if _, err := secrets.Load("again.yaml"); err != nil {
		t.Error(err)
	}
}

func TestConfigFlags(t *testing.T) {
	t.Chdir(t.TempDir())

	stdout, _ := must(t, "config", "demo", "https://10.5.0.2:6443", "-t", "controlplane", "-o", "-",
		"--additional-sans", "api.example,192.0.2.1", "--dns-domain", "example.local", "--install-disk", "/dev/vda",
		"--install-image", "example.org/installer:v1", "--kubernetes-version", "1.36.1", "--registry-mirror", "docker.io=http://127.0.0.1:5000",
		"--with-cluster-discovery=false", "--with-docs=false", "--with-examples=false", "--talos-version", "v1.12",
		"--config-patch", "machine: {sysctls: {a: all}}", "--config-patch-control-plane", `[{"op": "add", "path": "/machine/sysctls/b", "value": "cp"}]`)

	cfg, err := config.Decode([]byte(stdout))
	if err != nil {
		t.Fatal(err)
	}

	main := config.Find[*v1alpha1.Config](cfg)
	machine, cluster := &main.Machine, &main.Cluster

	for name, pair := range map[string][2]string{
		"certSANs":  {strings.Join(machine.CertSANs, " "), "api.example 192.0.2.1"},
		"apiServer": {strings.Join(cluster.APIServer.CertSANs, " "), "api.example 192.0.2.1"},
		"domain":    {view.Of(cfg).DNSDomain(), "example.local"},
		"disk":      {machine.Install.Disk, "/dev/vda"},
		"image":     {machine.Install.Image, "example.org/installer:v1"},
		"kubelet":   {machine.Kubelet.Image[strings.LastIndex(machine.Kubelet.Image, ":"):], ":v1.36.1"},
		"mirror":    {strings.Join(machine.Registries.Mirrors["docker.io"].Endpoints, " "), "http://127.0.0.1:5000"},
		"patches":   {machine.Sysctls["a"] + machine.Sysctls["b"], "allcp"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", name, pair[0], pair[1])
		}
	}

	if *cluster.Discovery.Enabled {
		t.Error("discovery is on")
	}
}

func TestRefuses(t *testing.T) {
	t.Chdir(t.TempDir())

	good := []string{"config", "demo", "https://10.5.0.2:6443"}

	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no endpoint", []string{"config", "demo"}, "accepts 2 arg(s)"},
		{"bad endpoint", []string{"config", "demo", "10.5.0.2"}, "did you mean"},
		{"bad type", append(good, "-t", "master"), `no type "master"`},
		{"type twice", append(good, "-t", "worker,worker"), "is given twice"},
		{"all to stdout", append(good, "-o", "-"), "one output type"},
		{"bad mirror", append(good, "--registry-mirror", "docker.io"), "HOST=URL"},
		{"bad patch", append(good, "--config-patch", "machine: {a: b}"), "--config-patch: patch 1"},
		{"KubeSpan", append(good, "--with-kubespan"), "KubeSpan is not available"},
		{"old contract", append(good, "--talos-version", "v1.11"), "v1.12"},
		{"no contract", append(good, "--talos-version", "new"), "want a release"},
		{"no such secrets", append(good, "--with-secrets", "none.yaml"), "none.yaml"},
		{"token without PKI", []string{"secrets", "-t", "abcdef.0123456789abcdef"}, "goes with"},
		{"two sources", []string{"secrets", "--from-controlplane-config", "a", "-p", "b"}, "none of the others can be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := run(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}

			if got := files(t, "."); len(got) != 0 {
				t.Errorf("left %q", got)
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	t.Chdir(t.TempDir())

	must(t, "ca", "--organization", "os", "--hours", "48")
	must(t, "key", "--name", "client")
	must(t, "csr", "--key", "client.key", "--roles", "os:reader")
	must(t, "crt", "--ca", "os", "--csr", "client.csr", "--name", "client")
	must(t, "keypair", "--organization", "server", "--ip", "192.0.2.1")

	want := []string{"client.crt", "client.csr", "client.key", "os.crt", "os.key", "server.crt", "server.key"}
	if got := files(t, "."); !slices.Equal(got, want) {
		t.Fatalf("files: got %q, want %q", got, want)
	}

	read := func(path string) []byte {
		text, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}

		return text
	}

	cert, err := pki.ParseCertificate(read("client.crt"))
	if err != nil {
		t.Fatal(err)
	}

	roots, err := pki.Pool(read("os.crt"))
	if err != nil {
		t.Fatal(err)
	}

	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}

	if got, want := cert.Subject.Organization, []string{"os:reader"}; !slices.Equal(got, want) {
		t.Errorf("roles: got %q, want %q", got, want)
	}

	if _, err := (pki.Pair{Crt: read("client.crt"), Key: read("client.key")}).TLS(); err != nil {
		t.Error(err)
	}

	if _, _, err := run(t, "ca", "--organization", "os"); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("again: got %v", err)
	}
}

func TestTalosconfigIsUsable(t *testing.T) {
	t.Chdir(t.TempDir())

	must(t, "config", "demo", "https://10.5.0.2:6443", "-t", "talosconfig", "-o", "out.yaml")

	c, err := talosconfig.Load("out.yaml")
	if err != nil {
		t.Fatal(err)
	}

	if c.Context != "demo" {
		t.Errorf("context: got %q, want demo", c.Context)
	}
}
