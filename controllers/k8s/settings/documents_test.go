// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// TestProxyConfiguration checks that kube-proxy has a file where a document has its configuration, and flags otherwise.
func TestProxyConfiguration(t *testing.T) {
	proxy := document("KubeProxyConfig", "config: {ipvs: {scheduler: wrr}, conntrack: {min: 7}, clientConnection: {qps: 5}}\nmode: ipvs")

	boot, err := BootstrapManifests(controlPlane(t, proxy), platform.Platform{Mode: platform.Container})
	if err != nil {
		t.Fatal(err)
	}

	if want := []string{"--config=/etc/kube-proxy/config.yaml", "--hostname-override=$(NODE_NAME)"}; !slices.Equal(boot.ProxyArgs, want) {
		t.Errorf("command line: got %q, want %q", boot.ProxyArgs, want)
	}

	want := map[string]any{
		"apiVersion": proxyVersion, "kind": proxyKind, "clusterCIDR": "10.244.0.0/16", "mode": "ipvs",
		"ipvs":             map[string]any{"scheduler": "wrr"},
		"conntrack":        map[string]any{"maxPerCore": 0, "min": int64(7)},
		"clientConnection": map[string]any{"qps": int64(5), "kubeconfig": "/etc/kubernetes/kubeconfig"},
	}
	if diff := cmp.Diff(want, boot.ProxyConfig); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}

	other, err := BootstrapManifests(controlPlane(t, strings.Replace(proxy, "wrr", "rr", 1)), platform.Platform{Mode: platform.Container})
	if err != nil || other.ProxyConfigChecksum == boot.ProxyConfigChecksum || boot.ProxyConfigChecksum == "" {
		t.Errorf("checksum: got %q and %q, %v: want two", boot.ProxyConfigChecksum, other.ProxyConfigChecksum, err)
	}

	plain, err := BootstrapManifests(controlPlane(t), platform.Platform{})
	if err != nil || plain.ProxyConfig != nil || plain.ProxyConfigChecksum != "" || !slices.Contains(plain.ProxyArgs, "--proxy-mode=nftables") {
		t.Errorf("without a document: got %v, %q, %v", plain.ProxyConfig, plain.ProxyArgs, err)
	}
}

// TestNodeMasks checks the flags of the families that have a pod network.
func TestNodeMasks(t *testing.T) {
	const both = "nodeCIDRMaskSizeIPv4: 26\nnodeCIDRMaskSizeIPv6: 72\n"

	for name, test := range map[string]struct {
		fields string
		want   []string
	}{
		"none":         {"podSubnets: [10.244.0.0/16]", nil},
		"IPv4":         {"podSubnets: [10.244.0.0/16]\n" + both, []string{"--node-cidr-mask-size-ipv4=26"}},
		"IPv6":         {"podSubnets: ['fd00::/56']\n" + both, []string{"--node-cidr-mask-size-ipv6=72"}},
		"two families": {"podSubnets: [10.244.0.0/16, 'fd00::/56']\n" + both, []string{"--node-cidr-mask-size-ipv4=26", "--node-cidr-mask-size-ipv6=72"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := controlPlane(t, "cluster: {network: {podSubnets: {$patch: delete}}}", document("KubeNetworkConfig", test.fields))

			line, err := pods.ControllerManagerArgs(*ControllerManager(cfg))
			if err != nil {
				t.Fatal(err)
			}

			got := slices.DeleteFunc(line, func(arg string) bool { return !strings.HasPrefix(arg, "--node-cidr") })
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestExtraManifests checks the names and headers of manifests that are downloaded.
func TestExtraManifests(t *testing.T) {
	got, err := ExtraManifests(controlPlane(t,
		"cluster: {extraManifests: ['https://a.example/1'], extraManifestHeaders: {A: main}}",
		document("KubeExternalManifestConfig", "name: two\nurl: https://a.example/2?token=x\nheaders: {B: own}"),
		document("KubeExternalManifestConfig", "name: three\nurl: https://a.example/3"),
	))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]k8s.ExtraManifest{
		{Name: "https://a.example/1", URL: "https://a.example/1", Priority: "99", ExtraHeaders: map[string]string{"A": "main"}},
		{Name: "two", URL: "https://a.example/2?token=x", Priority: "99", ExtraHeaders: map[string]string{"B": "own"}},
		{Name: "three", URL: "https://a.example/3", Priority: "99"},
	}, got.ExtraManifests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAuthentication checks what is permitted without a certificate.
func TestAuthentication(t *testing.T) {
	probes := map[string]any{"enabled": true, "conditions": []any{
		map[string]any{"path": "/livez"}, map[string]any{"path": "/readyz"}, map[string]any{"path": "/healthz"},
	}}

	for name, test := range map[string]struct {
		fields string // of the document; without any there is none
		want   any
	}{
		"default":                {"", probes},
		"only tokens":            {"jwt: [{issuer: {url: 'https://issuer.example', audiences: [a]}}]", probes},
		"what the document says": {"anonymous: {enabled: true}", map[string]any{"enabled": true}},
	} {
		var patches []string
		if test.fields != "" {
			patches = append(patches, document("KubeAuthenticationConfig", "configuration:\n  apiVersion: apiserver.config.k8s.io/v1\n  kind: AuthenticationConfiguration\n  "+test.fields))
		}

		got := Authentication(controlPlane(t, patches...)).Config
		if diff := cmp.Diff(test.want, got["anonymous"]); diff != "" || got["kind"] != "AuthenticationConfiguration" || (got["jwt"] != nil) != strings.Contains(test.fields, "jwt") {
			t.Errorf("%s: got %v (-want +got):\n%s", name, got, diff)
		}
	}
}

// TestStartupProbes checks that the API server's pod has the probe unless a document switches it off.
func TestStartupProbes(t *testing.T) {
	for fields, want := range map[string]bool{"apiPort: 6443": true, "startupProbes: true": true, "startupProbes: false": false} {
		pod := pods.APIServerPod(*APIServer(controlPlane(t, document("KubeAPIServerConfig", fields))), pods.Versions{})
		container := pod["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)

		if _, got := container["startupProbe"]; got != want || container["livenessProbe"] == nil {
			t.Errorf("%s: got the probe %t, want %t", fields, got, want)
		}
	}
}

// TestProxyTakesFile has the real kube-proxy read its configuration file.
func TestProxyTakesFile(t *testing.T) {
	program, err := filepath.Abs("../../../out/components/bin/kube-proxy")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(program); err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("the programs are not built (%w): run make build", err))
	}

	boot, err := BootstrapManifests(controlPlane(t, document("KubeProxyConfig", "config: {ipvs: {scheduler: wrr}}\nmode: ipvs")), platform.Platform{Mode: platform.Container})
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(boot.ProxyConfig)
	if err != nil {
		t.Fatal(err)
	}

	file, read := filepath.Join(t.TempDir(), "config.yaml"), filepath.Join(t.TempDir(), "read.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	//program:built one of out/components/bin
	if out, err := exec.CommandContext(t.Context(), program, "--config="+file, "--hostname-override=a", "--write-config-to="+read).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	got, err := os.ReadFile(read)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"scheduler: wrr", "mode: ipvs", "kubeconfig: /etc/kubernetes/kubeconfig", "maxPerCore: 0", "clusterCIDR: 10.244.0.0/16"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("kube-proxy has read no %q:\n%s", want, got)
		}
	}
}
