// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/view"
)

func viewOf(t *testing.T, text string) *view.Config {
	t.Helper()

	if text == "" {
		return view.Of(nil)
	}

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return view.Of(cfg)
}

// TestHostname checks which document sets the hostname.
func TestHostname(t *testing.T) {
	const (
		worker   = "machine: {type: worker, network: {hostname: older}}\n"
		stable   = "machine: {features: {stableHostname: true}}\n"
		document = "---\napiVersion: v1alpha1\nkind: HostnameConfig\n"
	)

	for name, test := range map[string]struct {
		text     string
		hostname string
		auto     view.AutoHostname
	}{
		"no configuration":            {"", "", view.AutoHostnameAny},
		"main document":               {worker, "older", view.AutoHostnameAddress},
		"main document, stable":       {stable, "", view.AutoHostnameStable},
		"both":                        {worker + document + "hostname: newer\n", "newer", view.AutoHostnameOff},
		"both, one without a name":    {worker + document + "auto: stable\n", "older", view.AutoHostnameStable},
		"both, one turns a name off":  {stable + document + "auto: \"off\"\n", "", view.AutoHostnameOff},
		"document alone":              {document + "hostname: newer\n", "newer", view.AutoHostnameOff},
		"document alone, stable name": {document + "auto: stable\n", "", view.AutoHostnameStable},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := viewOf(t, test.text)

			if got, want := cfg.Hostname(), test.hostname; got != want {
				t.Errorf("hostname: got %q, want %q", got, want)
			}

			if got, want := cfg.AutoHostname(), test.auto; got != want {
				t.Errorf("own name: got %d, want %d", got, want)
			}
		})
	}
}

// defaults are the values if no document sets them, in the order of want.
func defaults(cfg *view.Config) []any {
	port, kubePrism := cfg.KubePrismPort()
	manager, managerEnabled := cfg.ControllerManager()
	scheduler, schedulerEnabled := cfg.Scheduler()

	return []any{
		cfg.ClusterName(), cfg.DNSDomain(), cfg.APIServerPort(), cfg.PodSubnets()[0].String(), cfg.ServiceSubnets()[0].String(),
		cfg.AdminCertLifetime().String(), port, kubePrism, cfg.CNI().Name, cfg.Proxy().Mode,
		cfg.Etcd().Image, cfg.APIServer().Image, manager.Image, managerEnabled, scheduler.Image, schedulerEnabled,
		cfg.Proxy().Image, cfg.CoreDNS().Image, cfg.Kubelet().Image,
	}
}

func TestDefaults(t *testing.T) {
	want := []any{
		"kubernetes", "cluster.local", 6443, "10.244.0.0/16", "10.96.0.0/12",
		"8760h0m0s", 7445, false, view.CNIFlannel, "nftables",
		images.DefaultEtcd, images.DefaultKubeAPIServer, images.DefaultKubeControllerManager, true, images.DefaultKubeScheduler, true,
		images.DefaultKubeProxy, images.DefaultCoreDNS, images.DefaultKubelet,
	}

	for name, text := range map[string]string{"no configuration": "", "silent": "machine: {type: worker}\n"} {
		if diff := cmp.Diff(want, defaults(viewOf(t, text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	set := `
machine:
  features: {kubePrism: {enabled: true, port: 7000}}
  kubelet: {image: k}
  controlPlane: {controllerManager: {disabled: true}, scheduler: {disabled: true}}
cluster:
  clusterName: c
  controlPlane: {localAPIServerPort: 6000}
  network: {dnsDomain: d, podSubnets: [192.0.2.0/25], serviceSubnets: [192.0.2.128/25], cni: {name: none}}
  adminKubeconfig: {certLifetime: 1h}
  proxy: {mode: iptables, image: p}
  etcd: {image: e}
  apiServer: {image: a}
  controllerManager: {image: m}
  scheduler: {image: s}
  coreDNS: {image: n}
`
	want = []any{
		"c", "d", 6000, "192.0.2.0/25", "192.0.2.128/25", "1h0m0s", 7000, true, "none", "iptables", "e", "a", "m", false, "s", false, "p", "n", "k",
	}

	if diff := cmp.Diff(want, defaults(viewOf(t, set))); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

// TestComplete checks that a configuration without the main document is not complete.
func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{"": false, "machine: {type: worker}\n": true, "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: n\n": false} {
		if got := viewOf(t, text).Complete(); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}
