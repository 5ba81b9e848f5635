// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

var (
	settings = k8s.BootstrapManifestsConfigSpec{
		Server: "https://127.0.0.1:7445", ClusterDomain: "cluster.local", PodCIDRs: []string{"10.244.0.0/16"},
		ProxyEnabled: true, ProxyImage: images.DefaultKubeProxy, ProxyArgs: []string{"--proxy-mode=nftables"},
		CoreDNSEnabled: true, CoreDNSImage: images.DefaultCoreDNS, DNSServiceIP: "10.96.0.10",
		FlannelEnabled: true, FlannelImage: images.DefaultFlannel, FlannelBackendType: "vxlan", FlannelBackendPort: 4789,
		FlannelKubeServiceHost: "127.0.0.1", FlannelKubeServicePort: "7445",
		FlannelKubeNetworkPoliciesEnabled: true, FlannelKubeNetworkPoliciesImage: images.DefaultKubeNetworkPolicies,
	}
	root = secrets.KubernetesRootSpec{BootstrapTokenID: "abcdef", BootstrapTokenSecret: "0123456789abcdef"}
)

// TestBuiltin checks the manifests of a cluster, and that Kubernetes' own types decode each object.
func TestBuiltin(t *testing.T) {
	rendered, err := manifests.Builtin(settings, root)
	if err != nil {
		t.Fatal(err)
	}

	var (
		names []string
		text  bytes.Buffer
	)

	for _, m := range rendered {
		names = append(names, m.Name)

		for _, object := range m.Objects {
			decodeStrictly(t, m.Name, object)

			out, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}

			text.WriteString("---\n# " + m.Name + "\n")
			text.Write(out)
		}
	}

	if !slices.IsSorted(names) {
		t.Errorf("names: got %q, want them sorted, since that is the order of application", names)
	}

	path := filepath.Join("testdata", "builtin.yaml")

	if *rewrite {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("manifests (-want +got), -rewrite accepts them:\n%s", diff)
	}
}

// TestImages checks that the images of the manifests are in the image cache.
func TestImages(t *testing.T) {
	rendered, err := manifests.Builtin(settings, root)
	if err != nil {
		t.Fatal(err)
	}

	found := 0

	var walk func(v any)

	walk = func(v any) {
		switch v := v.(type) {
		case render.Object:
			if image, ok := v["image"].(string); ok {
				found++

				if !slices.Contains(images.Cache(), image) {
					t.Errorf("image %s is not in the image cache", image)
				}
			}

			for _, item := range v {
				walk(item)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}

	for _, object := range slices.Concat(manifests.Stages(rendered)...) {
		walk(object)
	}

	if found < 4 {
		t.Errorf("got %d images, want those of flannel, kube-network-policies, kube-proxy and CoreDNS", found)
	}
}

// TestSwitchedOff checks that each part can be left out, and that both address families work.
func TestSwitchedOff(t *testing.T) {
	cfg := settings
	cfg.FlannelEnabled, cfg.ProxyEnabled, cfg.CoreDNSEnabled = false, false, false

	rendered, err := manifests.Builtin(cfg, root)
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range rendered {
		if strings.HasPrefix(m.Name, "05-") || strings.HasPrefix(m.Name, "10-") || strings.Contains(m.Name, "dns") {
			t.Errorf("got manifest %s, want it left out", m.Name)
		}
	}

	cfg = settings
	cfg.DNSServiceIPv6 = "fc00::a"
	cfg.PodCIDRs = append(cfg.PodCIDRs[:1:1], "fc00:1::/56")

	if rendered, err = manifests.Builtin(cfg, root); err != nil {
		t.Fatal(err)
	}

	for _, m := range rendered {
		for _, object := range m.Objects {
			decodeStrictly(t, m.Name, object)

			if object["kind"] == "Service" {
				spec := object["spec"].(render.Object)
				if diff := cmp.Diff([]any{"10.96.0.10", "fc00::a"}, spec["clusterIPs"]); diff != "" {
					t.Errorf("DNS service (-want +got):\n%s", diff)
				}
			}
		}
	}
}

func decodeStrictly(t *testing.T, name string, object render.Object) {
	t.Helper()

	var into any

	switch kind := object["kind"]; kind {
	case "Secret":
		into = &corev1.Secret{}
	case "ConfigMap":
		into = &corev1.ConfigMap{}
	case "Service":
		into = &corev1.Service{}
	case "ServiceAccount":
		into = &corev1.ServiceAccount{}
	case "ClusterRole":
		into = &rbacv1.ClusterRole{}
	case "Role":
		into = &rbacv1.Role{}
	case "RoleBinding":
		into = &rbacv1.RoleBinding{}
	case "ClusterRoleBinding":
		into = &rbacv1.ClusterRoleBinding{}
	case "DaemonSet":
		into = &appsv1.DaemonSet{}
	case "Deployment":
		into = &appsv1.Deployment{}
	default:
		t.Fatalf("%s: no type for kind %v", name, kind)
	}

	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(into); err != nil {
		t.Errorf("%s: %v: Kubernetes' own type does not decode it: %v", name, object["kind"], err)
	}
}

func TestExtra(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []render.Object
		err  string
	}{
		"several documents": {
			text: "kind: Namespace\napiVersion: v1\n---\nkind: Pod\n",
			want: []render.Object{{"kind": "Namespace", "apiVersion": "v1"}, {"kind": "Pod"}},
		},
		"a list": {
			text: "kind: List\napiVersion: v1\nitems: [{kind: A}, {kind: B}]",
			want: []render.Object{{"kind": "A"}, {"kind": "B"}},
		},
		"not YAML": {text: "a: [", err: "manifest x"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := manifests.Extra(k8s.ExtraManifest{Name: "x", Priority: "99"}, []byte(test.text))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, got.Objects); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}
