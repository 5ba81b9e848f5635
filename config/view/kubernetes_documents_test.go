// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/view"
)

const (
	document = "---\napiVersion: v1alpha1\nkind: "
	cluster  = document + "KubeClusterConfig\nendpoint: https://api.example:6443\n"
	plane    = "machine: {type: controlplane}\n"
)

// TestAbsence checks what a configuration without a document means: with KubeClusterConfig documents describe the cluster, and flannel and
// KubePrism are on if they have theirs. Without it the keys of the main document decide, and flannel is the default.
func TestAbsence(t *testing.T) {
	type state struct {
		CNI                      string
		KubePrism, Proxy, DNS    bool
		Manager, Scheduler, Pods bool
	}

	others := func(cni string, kubePrism bool) state {
		return state{CNI: cni, KubePrism: kubePrism, Proxy: true, DNS: true, Manager: true, Scheduler: true}
	}

	for name, tt := range map[string]struct {
		text string
		want state
	}{
		"main document":               {plane, others("flannel", false)},
		"main document, KubePrism":    {"machine: {type: controlplane, features: {kubePrism: {enabled: true}}}\n", others("flannel", true)},
		"documents without a network": {plane + cluster, others("none", false)},
		"documents with flannel":      {plane + cluster + document + "KubeFlannelCNIConfig\n", others("flannel", false)},
		"documents with KubePrism":    {plane + cluster + document + "KubePrismConfig\n", others("none", true)},
		"documents, key for flannel":  {plane + "cluster: {network: {cni: {name: flannel}}}\n" + cluster, others("flannel", false)},
		"another document":            {plane + document + "KubeNetworkConfig\ndnsDomain: a.example\n", others("flannel", false)},
		"documents that switch off": {
			plane + cluster + document + "KubeProxyConfig\nenabled: false\n" + document + "KubeCoreDNSConfig\nenabled: false\n" +
				document + "KubeSchedulerConfig\nenabled: false\n" + document + "KubeControllerManagerConfig\nenabled: false\n" +
				document + "KubeTalosAPIAccessConfig\n",
			state{CNI: "none", Pods: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := viewOf(t, tt.text)

			var got state

			got.CNI = cfg.CNI().Name
			_, got.KubePrism = cfg.KubePrismPort()
			got.Proxy, got.DNS = !view.IsTrue(cfg.Proxy().Disabled), !view.IsTrue(cfg.CoreDNS().Disabled)
			_, got.Manager = cfg.ControllerManager()
			_, got.Scheduler = cfg.Scheduler()
			_, got.Pods = cfg.TalosAPIAccess()

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKubernetesDocuments checks settings that only documents have, beside their defaults.
func TestKubernetesDocuments(t *testing.T) {
	none := viewOf(t, plane+cluster)

	set := viewOf(t, plane+cluster+
		document+"KubeAPIServerConfig\nstartupProbes: false\n"+
		document+"KubeAuthenticationConfig\nconfiguration: {kind: AuthenticationConfiguration}\n"+
		document+"KubeEtcdEncryptionConfig\nconfig: {kind: EncryptionConfiguration}\n"+
		document+"KubeNetworkConfig\nnodeCIDRMaskSizeIPv4: 26\nnodeCIDRMaskSizeIPv6: 112\n"+
		document+"KubeFlannelCNIConfig\nbackendType: host-gw\nbackendPort: 1\nbackendMTU: 1400\nbackendExtraConfig: {A: b}\nresources: {limits: {cpu: 1}}\nextraArgs: [--x]\nkubeNetworkPoliciesEnabled: true\n"+
		document+"KubeProxyConfig\nconfig: {mode: ipvs}\nresources: {requests: {cpu: 2}}\n"+
		document+"KubePrismConfig\ntlsServerName: api.example\n"+
		document+"KubeServiceAccountConfig\naccepted: {issuers: [i, 'https://api.example:6443', i], audiences: [a, b]}\n"+
		document+"KubeTalosAPIAccessConfig\nallowedRoles: ['os:reader']\nallowedKubernetesNamespaces: [n]\n"+
		document+"KubeExternalManifestConfig\nname: m\nurl: https://a.example/m.yaml\nheaders: {A: b}\n")

	all := func(cfg *view.Config) []any {
		v4, v6 := cfg.NodeCIDRMaskSizes()
		access, _ := cfg.TalosAPIAccess()

		return []any{
			cfg.StartupProbes(), cfg.Authentication()["kind"], cfg.EtcdEncryption()["kind"], v4, v6, cfg.Flannel(), cfg.ProxyConfiguration()["mode"],
			len(cfg.ProxyResources().Requests), cfg.KubePrismServerName(), cfg.ServiceAccounts(), access, cfg.ExternalManifests(),
		}
	}

	const endpoint = "https://api.example:6443"

	if diff := cmp.Diff([]any{
		true, nil, nil, 0, 0, view.Flannel{BackendType: "vxlan", BackendPort: 4789}, nil, 0, "",
		view.ServiceAccounts{Issuer: endpoint, Audiences: []string{endpoint}}, view.TalosAPIAccess{}, []view.ExternalManifest(nil),
	}, all(none)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]any{
		false, "AuthenticationConfiguration", "EncryptionConfiguration", 26, 112,
		view.Flannel{
			BackendType: "host-gw", BackendPort: 1, BackendMTU: 1400, BackendExtra: view.Object{"A": "b"}, NetworkPolicies: true,
			Resources: view.Resources{Limits: view.Object{"cpu": int64(1)}}, ExtraArgs: []string{"--x"},
		},
		"ipvs", 1, "api.example",
		view.ServiceAccounts{Issuer: endpoint, Audiences: []string{endpoint, "a", "b"}, AcceptedIssuers: []string{"i"}},
		view.TalosAPIAccess{Roles: []string{"os:reader"}, Namespaces: []string{"n"}},
		[]view.ExternalManifest{{Name: "m", URL: "https://a.example/m.yaml", Headers: map[string]string{"A": "b"}}},
	}, all(set)); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}
