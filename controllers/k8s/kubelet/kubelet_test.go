// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

func settings(change func(*k8s.KubeletConfigSpec)) k8s.KubeletConfigSpec {
	cfg := k8s.KubeletConfigSpec{
		Image: images.DefaultKubelet, ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local",
		DefaultRuntimeSeccompEnabled: true, DisableManifestsDirectory: true,
		EnableFSQuotaMonitoring: true,
	}

	if change != nil {
		change(&cfg)
	}

	return cfg
}

var node = kubelet.Node{Name: "cp1", IPs: []netip.Addr{netip.MustParseAddr("172.20.0.2")}, ControlPlane: true}

// TestGolden checks the kubelet of a default control plane, and that the kubelet's own type decodes the configuration.
func TestGolden(t *testing.T) {
	spec, err := kubelet.Spec(settings(func(cfg *k8s.KubeletConfigSpec) {
		cfg.RegisterWithTaints = map[string]string{"node-role.kubernetes.io/control-plane": ":NoSchedule", "other": "x:NoExecute"}
	}), node)
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(spec.Config)
	if err != nil {
		t.Fatal(err)
	}

	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()

	var typed kubeletv1beta1.KubeletConfiguration
	if err := decoder.Decode(&typed); err != nil {
		t.Fatalf("the kubelet's own type does not decode it: %v", err)
	}

	got, err := yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}

	path := filepath.Join("testdata", "controlplane.yaml")

	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("spec (-want +got), -rewrite accepts it:\n%s", diff)
	}
}

func TestSpec(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*k8s.KubeletConfigSpec)
		check  func(k8s.KubeletSpecSpec) any
		want   any
		err    string
	}{
		"extra configuration overrides defaults, recursively": {
			change: func(c *k8s.KubeletConfigSpec) {
				c.ExtraConfig = map[string]any{"systemReserved": map[string]any{"cpu": "1"}, "maxPods": 50}
			},
			check: func(s k8s.KubeletSpecSpec) any {
				return []any{s.Config["systemReserved"].(map[string]any)["cpu"], s.Config["systemReserved"].(map[string]any)["pid"], s.Config["maxPods"]}
			},
			want: []any{"1", "100", 50},
		},
		"what the system sets is refused": {
			change: func(c *k8s.KubeletConfigSpec) { c.ExtraConfig = map[string]any{"staticPodURL": "x"} },
			err:    `machine.kubelet.extraConfig: field "staticPodURL" is not allowed`,
		},
		"a denied argument": {
			change: func(c *k8s.KubeletConfigSpec) { c.ExtraArgs = k8s.Args{"kubeconfig": {Values: []string{"/x"}}} },
			err:    `machine.kubelet.extraArgs: kubelet: extra argument "kubeconfig" is not allowed`,
		},
		"an image with a custom name is not checked": {
			change: func(c *k8s.KubeletConfigSpec) { c.ExtraArgs = k8s.Args{"hostname-override": {Values: []string{"x"}}} },
			check:  func(s k8s.KubeletSpecSpec) any { return s.ExpectedNodename },
			want:   "",
		},
		"without a Node there is no cluster": {
			change: func(c *k8s.KubeletConfigSpec) { c.SkipNodeRegistration = true },
			check: func(s k8s.KubeletSpecSpec) any {
				return []any{s.Config["registerNode"], s.Config["authorization"], strings.Contains(strings.Join(s.Args, " "), "kubeconfig")}
			},
			want: []any{false, map[string]any{"mode": "AlwaysAllow"}, false},
		},
		"manifests directory": {
			change: func(c *k8s.KubeletConfigSpec) { c.DisableManifestsDirectory = false },
			check:  func(s k8s.KubeletSpecSpec) any { return s.Config["staticPodPath"] },
			want:   "/etc/kubernetes/manifests",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := kubelet.Spec(settings(test.change), node)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, test.check(spec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStaleIdentity checks when a kubelet must join again.
func TestStaleIdentity(t *testing.T) {
	newCA := func() *pki.CA {
		ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"kubernetes"}})
		if err != nil {
			t.Fatal(err)
		}

		return ca
	}
	held := func(ca *pki.CA, name string) fstest.MapFS {
		pair, err := ca.Sign(pki.LeafOptions{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}, Client: true, TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}

		return fstest.MapFS{"kubelet-client-current.pem": {Data: append(pair.Crt, pair.Key...)}}
	}

	ours, theirs := newCA(), newCA()

	own, err := kubelet.NewIdentity(secrets.KubernetesRootSpec{IssuingCA: secrets.CertAndKey{Crt: ours.PEM.Crt, Key: ours.PEM.Key}}, "cp1")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := tls.X509KeyPair(own, own); err != nil {
		t.Errorf("certificate and key in one file, as the kubelet reads them: %v", err)
	}

	former := newCA()
	join := secrets.KubeletSpec{AcceptedCAs: []secrets.Cert{{Crt: ours.PEM.Crt}, {Crt: former.PEM.Crt}}}

	for name, test := range map[string]struct {
		dir        fstest.MapFS
		want       string
		registered string
	}{
		"of the former authority": {dir: held(former, "cp1"), registered: "cp1", want: "another authority now"},
		"none":                    {dir: fstest.MapFS{}},
		"its own":                 {dir: held(ours, "cp1"), registered: "cp1"},
		"of another name":         {dir: held(ours, "old"), registered: "old", want: "the certificate is that of system:node:old, not system:node:cp1"},
		"of another cluster":      {dir: held(theirs, "cp1"), want: "not signed by an accepted authority"},
		"made on a control plane": {dir: fstest.MapFS{"kubelet-client-current.pem": {Data: own}}, registered: "cp1"},
		"broken":                  {dir: fstest.MapFS{"kubelet-client-current.pem": {Data: []byte("x")}}, want: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			got := kubelet.StaleIdentity(test.dir, "cp1", join)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}

			if got := kubelet.RegisteredName(test.dir, join); got != test.registered {
				t.Errorf("registered: got %q, want %q", got, test.registered)
			}
		})
	}
}
