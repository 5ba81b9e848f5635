// SPDX-License-Identifier: Apache-2.0

package k8s_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
)

// TestValidate checks the rules of documents that go beyond single fields.
func TestValidate(t *testing.T) {
	const (
		ed25519 = "|\n    -----BEGIN PUBLIC KEY-----\n    MCowBQYDK2VwAyEA7hyzmgqi0T7FxxN3tkWpXKDE6/4CsgOrr0M7wP61/Q4=\n    -----END PUBLIC KEY-----\n"
		ecdsa   = "|\n    -----BEGIN PUBLIC KEY-----\n    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+1XuHId4NOYYb9pkWqEcS2Uigk5h\n" +
			"    A06+Xbl+cYGeJ6ZTbzF+rFuITqqYKB5YaG4XHeiMcghP9mfEDTH7Hgh0qw==\n    -----END PUBLIC KEY-----\n"
		private = "|\n    -----BEGIN PRIVATE KEY-----\n    MC4CAQAwBQYDK2VwBCIEIHhqXtcF1uYZNjVhizLtNcf7fIKeJcOEWCxg4AKAestp\n    -----END PRIVATE KEY-----\n"
	)

	for name, tt := range map[string]struct {
		kind, fields string
		want         string // part of a finding; empty if there is none
	}{
		"a key of ECDSA":         {"KubeServiceAccountConfig", "accepted:\n  publicKeys:\n  - " + ecdsa, ""},
		"a key of Ed25519":       {"KubeServiceAccountConfig", "accepted:\n  publicKeys:\n  - " + ed25519, "accepted.publicKeys[0]: is of type ed25519.PublicKey"},
		"signing with Ed25519":   {"KubeServiceAccountConfig", "issuer:\n  privateKey: " + private, "issuer.privateKey: is of type ed25519.PrivateKey"},
		"an empty audience":      {"KubeServiceAccountConfig", "accepted: {audiences: ['']}", "accepted.audiences[0]"},
		"two audiences in one":   {"KubeServiceAccountConfig", "accepted: {audiences: ['a,b']}", "accepted.audiences[0]"},
		"an issuer by name":      {"KubeServiceAccountConfig", "accepted: {issuers: [name]}", ""},
		"an issuer that is none": {"KubeServiceAccountConfig", "accepted: {issuers: [':x']}", "accepted.issuers[0]"},

		"a port of flannel, twice":  {"KubeFlannelCNIConfig", "backendExtraConfig: {Port: 1}", "backendExtraConfig.Port: the key backendPort"},
		"more of flannel's backend": {"KubeFlannelCNIConfig", "backendExtraConfig: {VNI: 5, DirectRouting: true}", ""},

		"kube-proxy by file and flags": {"KubeProxyConfig", "config: {mode: ipvs}\nextraArgs: {v: '4'}", "extraArgs: kube-proxy ignores flags"},
		"two modes":                    {"KubeProxyConfig", "mode: iptables\nconfig: {mode: ipvs}", "config.mode: ipvs is not the mode iptables"},
		"one mode, twice":              {"KubeProxyConfig", "mode: ipvs\nconfig: {mode: ipvs}", ""},

		"encryption by nothing":     {"KubeEtcdEncryptionConfig", "config: {}", "config: is missing"},
		"authentication by nothing": {"KubeAuthenticationConfig", "configuration: {}", "configuration: is missing"},

		"networks of nodes":            {"KubeNetworkConfig", "podSubnets: [198.51.100.0/24, '2001:db8::/56']\nnodeCIDRMaskSizeIPv4: 28\nnodeCIDRMaskSizeIPv6: 72", ""},
		"a node larger than all":       {"KubeNetworkConfig", "podSubnets: [198.51.100.0/24]\nnodeCIDRMaskSizeIPv4: 20", "podSubnets: 198.51.100.0/24 is smaller"},
		"too many nodes":               {"KubeNetworkConfig", "podSubnets: ['2001:db8::/56']\nnodeCIDRMaskSizeIPv6: 80", "podSubnets: 2001:db8::/56 has more than 2^16"},
		"a manifest by another scheme": {"KubeExternalManifestConfig", "name: a\nurl: ftp://a.example/x", "url: the scheme is"},
		"a role that does not exist":   {"KubeTalosAPIAccessConfig", "allowedRoles: ['os:impersonator']", `allowedRoles[0]: "os:impersonator" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Decode([]byte("apiVersion: v1alpha1\nkind: " + tt.kind + "\n" + tt.fields + "\n"))
			if err != nil {
				t.Fatal(err)
			}

			findings := document.Check(cfg.Documents()[0]).Findings

			if tt.want == "" && len(findings) > 0 || tt.want != "" && (len(findings) != 1 || !strings.Contains(findings[0].Error(), tt.want)) {
				t.Errorf("got %v, want %q", findings, tt.want)
			}
		})
	}
}
