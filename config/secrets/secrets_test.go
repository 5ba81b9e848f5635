// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/pki"
)

func TestRoundTrip(t *testing.T) {
	bundle := configtest.Bundle(t)

	text, err := bundle.Encode()
	if err != nil {
		t.Fatal(err)
	}

	for _, key := range []string{
		"cluster:", "secrets:", "bootstraptoken:", "secretboxencryptionsecret:", "trustdinfo:", "certs:",
		"etcd:", "k8s:", "k8saggregator:", "k8sserviceaccount:", "os:",
	} {
		if !strings.Contains(string(text), key) {
			t.Errorf("the file has no key %s", key)
		}
	}

	got, err := secrets.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(bundle, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestAuthorities(t *testing.T) {
	certs := configtest.Bundle(t).Certs

	for _, test := range []struct {
		name     string
		crt, key []byte
		kind     pki.KeyKind
		subject  string
	}{
		{"os", certs.OS.Crt, certs.OS.Key, pki.Ed25519, "O=talos"},
		{"k8s", certs.Kubernetes.Crt, certs.Kubernetes.Key, pki.ECDSAP256, "O=kubernetes"},
		{"k8saggregator", certs.Aggregator.Crt, certs.Aggregator.Key, pki.ECDSAP256, "CN=front-proxy"},
		{"etcd", certs.Etcd.Crt, certs.Etcd.Key, pki.ECDSAP256, "O=etcd"},
	} {
		ca, err := pki.ParseCA(test.crt, test.key)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)

			continue
		}

		if kind, _ := pki.KindOf(ca.Key.Public()); kind != test.kind {
			t.Errorf("%s: got a %s key, want %s", test.name, kind, test.kind)
		}

		if got := ca.Certificate.Subject.String(); got != test.subject {
			t.Errorf("%s: got subject %s, want %s", test.name, got, test.subject)
		}
	}

	if !strings.HasPrefix(string(certs.ServiceAccount.Key), "-----BEGIN RSA PRIVATE KEY-----") {
		t.Errorf("service account key: got %.40q, want an RSA key", certs.ServiceAccount.Key)
	}
}

func TestTokensDiffer(t *testing.T) {
	bundle := configtest.Bundle(t)

	for _, token := range []string{bundle.Secrets.BootstrapToken, bundle.Trustd.Token} {
		if !secrets.Token.MatchString(token) {
			t.Errorf("%q is not a token", token)
		}
	}

	if bundle.Secrets.BootstrapToken == bundle.Trustd.Token || bundle.Cluster.ID == bundle.Cluster.Secret {
		t.Error("two secrets are the same")
	}
}

func TestFromConfig(t *testing.T) {
	for contract := generate.Oldest; contract <= generate.Newest; contract++ {
		t.Run(contract.String(), func(t *testing.T) { fromConfig(t, contract) })
	}
}

func fromConfig(t *testing.T, contract generate.Contract) {
	t.Helper()

	bundle := configtest.Bundle(t)

	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Secrets: bundle, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode(out.ControlPlane)
	if err != nil {
		t.Fatal(err)
	}

	got, err := secrets.FromConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(bundle, got); diff != "" {
		t.Errorf("bundle (-want +got):\n%s", diff)
	}

	worker, err := config.Decode(out.Worker)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := secrets.FromConfig(worker); err == nil || !strings.Contains(err.Error(), "only a control plane") {
		t.Errorf("worker: got %v", err)
	}
}

func TestFromKubernetesPKI(t *testing.T) {
	dir := t.TempDir()
	certs := configtest.Bundle(t).Certs

	if err := os.Mkdir(filepath.Join(dir, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string][]byte{
		"ca.crt": certs.Kubernetes.Crt, "ca.key": certs.Kubernetes.Key,
		"front-proxy-ca.crt": certs.Aggregator.Crt, "front-proxy-ca.key": certs.Aggregator.Key,
		"etcd/ca.crt": certs.Etcd.Crt, "etcd/ca.key": certs.Etcd.Key, "sa.key": certs.ServiceAccount.Key,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	bundle, err := secrets.FromKubernetesPKI(dir, "abcdef.0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(certs.Kubernetes, bundle.Certs.Kubernetes); diff != "" {
		t.Error(diff)
	}

	if got, want := bundle.Secrets.BootstrapToken, "abcdef.0123456789abcdef"; got != want {
		t.Errorf("token: got %q, want %q", got, want)
	}

	if err := os.Remove(filepath.Join(dir, "sa.key")); err != nil {
		t.Fatal(err)
	}

	if _, err := secrets.FromKubernetesPKI(dir, ""); err == nil || !strings.Contains(err.Error(), "sa.key") {
		t.Errorf("without sa.key: got %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "is empty"},
		{"not YAML", "a: [", "not YAML"},
		{"misspelt", "clutser: {}\n", `did you mean "cluster"?`},
		{"nothing inside", "cluster: {}\n", "certs.os"},
		{"a configuration", "machine: {type: worker}\n", "machine: unknown key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := secrets.Decode([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}
