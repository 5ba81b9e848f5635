// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func generated(t *testing.T) (controlPlane, worker *config.Config) {
	t.Helper()

	out, err := generate.New("demo", "https://lb.example.org:6443", "", generate.Options{})
	if err != nil {
		t.Fatal(err)
	}

	decode := func(text []byte) *config.Config {
		cfg, err := config.Decode(text)
		if err != nil {
			t.Fatal(err)
		}

		return cfg
	}

	return decode(out.ControlPlane), decode(out.Worker)
}

func TestKubernetesRoot(t *testing.T) {
	cfg, _ := generated(t)

	main := config.Find[*v1alpha1.Config](cfg)

	got, err := kubernetesRoot(view.Of(cfg))
	if err != nil {
		t.Fatal(err)
	}

	id, secret, _ := strings.Cut(main.Cluster.Token, ".")

	want := []any{"demo", "https://lb.example.org:6443", "https://127.0.0.1:6443", "cluster.local", id, secret, "10.96.0.1", 1}
	if diff := cmp.Diff(want, []any{
		got.Name, got.Endpoint.FullPath, got.LocalEndpoint.FullPath, got.DNSDomain, got.BootstrapTokenID, got.BootstrapTokenSecret,
		got.APIServerIPs[0].String(), len(got.AcceptedCAs),
	}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Another accepted authority follows the issuing one; a duplicate is left out.
	_, other := generated(t)

	main.Cluster.AcceptedCAs = []v1alpha1.Cert{{Crt: main.Cluster.CA.Crt}, {Crt: view.Of(other).ClusterCA().Crt}}

	if got, err = kubernetesRoot(view.Of(cfg)); err != nil || len(got.AcceptedCAs) != 2 {
		t.Errorf("accepted authorities: got %d, %v; want 2", len(got.AcceptedCAs), err)
	}

	main.Cluster.Token = "no-dot"
	if _, err := kubernetesRoot(view.Of(cfg)); err == nil || !strings.Contains(err.Error(), "cluster.token") {
		t.Errorf("token without a dot: got error %v, want one that names cluster.token", err)
	}
}

func TestKubeletEndpoint(t *testing.T) {
	controlPlane, worker := generated(t)

	for name, test := range map[string]struct {
		cfg       *config.Config
		kubePrism bool
		want      string
	}{
		"control plane":                   {controlPlane, true, "https://127.0.0.1:7445"},
		"control plane, KubePrism is off": {controlPlane, false, "https://127.0.0.1:6443"},
		"worker":                          {worker, true, "https://127.0.0.1:7445"},
		"worker, KubePrism is off":        {worker, false, "https://lb.example.org:6443"},
	} {
		t.Run(name, func(t *testing.T) {
			config.Find[*v1alpha1.Config](test.cfg).Machine.Features.KubePrism.Enabled = &test.kubePrism

			got, err := kubeletSecrets(view.Of(test.cfg))
			if err != nil || got.Endpoint.FullPath != test.want {
				t.Errorf("got %s, %v; want %s", got.Endpoint, err, test.want)
			}
		})
	}
}

func TestWorkerHasNoKeys(t *testing.T) {
	_, worker := generated(t)

	root, err := osRoot(view.Of(worker))
	if err != nil || len(root.IssuingCA.Key) != 0 || len(root.AcceptedCAs) != 1 {
		t.Errorf("worker: got a key of %d bytes, %d authorities and error %v; want none, 1 and none", len(root.IssuingCA.Key), len(root.AcceptedCAs), err)
	}
}

// TestBridgesAreNotTrusted checks that what other authorities have signed for one is sent by servers, but not trusted.
func TestBridgesAreNotTrusted(t *testing.T) {
	cfg, _ := generated(t)
	_, other := generated(t)

	main := config.Find[*v1alpha1.Config](cfg)

	for _, test := range []struct {
		name     string
		ca       *v1alpha1.CertPair
		accepted *[]v1alpha1.Cert
		other    []byte
		read     func() (issuing []byte, accepted []secrets.Cert)
	}{
		{"machine", &main.Machine.CA, &main.Machine.AcceptedCAs, view.Of(other).MachineCA().Crt, func() ([]byte, []secrets.Cert) {
			root, err := osRoot(view.Of(cfg))
			if err != nil {
				t.Fatal(err)
			}

			return root.IssuingCA.Crt, root.AcceptedCAs
		}},
		{"cluster", &main.Cluster.CA, &main.Cluster.AcceptedCAs, view.Of(other).ClusterCA().Crt, func() ([]byte, []secrets.Cert) {
			root, err := kubernetesRoot(view.Of(cfg))
			if err != nil {
				t.Fatal(err)
			}

			return root.IssuingCA.Crt, root.AcceptedCAs
		}},
	} {
		ca, err := pki.ParseCA(test.ca.Crt, test.ca.Key)
		if err != nil {
			t.Fatal(err)
		}

		next, err := pki.ParseCertificate(test.other)
		if err != nil {
			t.Fatal(err)
		}

		bridge, err := ca.Bridge(next)
		if err != nil {
			t.Fatal(err)
		}

		// As an authority that will issue, and as the one that does.
		*test.accepted = []v1alpha1.Cert{{Crt: pki.EncodeCertificates([]*x509.Certificate{next, bridge})}}

		if _, got := test.read(); len(got) != 2 || !bytes.Equal(got[1].Crt, pki.EncodeCertificate(next)) {
			t.Errorf("%s: accepted: got %d, want the authority and the next one, without the bridge", test.name, len(got))
		}

		*test.accepted = []v1alpha1.Cert{{Crt: test.ca.Crt}}
		test.ca.Crt = pki.EncodeCertificates([]*x509.Certificate{next, bridge})

		issuing, got := test.read()
		if len(got) != 2 || !bytes.Equal(got[0].Crt, pki.EncodeCertificate(next)) {
			t.Errorf("%s: issuing: got %d accepted, want the authority without the bridge, and the former one", test.name, len(got))
		}

		if authority, err := pki.ParseAuthority(issuing); err != nil || len(authority.Bridges) != 1 {
			t.Errorf("%s: issuing: got %d bridges, %v; want one for servers", test.name, len(authority.Bridges), err)
		}
	}
}
