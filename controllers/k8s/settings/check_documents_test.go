// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"
	"strings"
	"testing"
)

func document(kind, fields string) string {
	return "apiVersion: v1alpha1\nkind: " + kind + "\n" + fields
}

// TestCheckDocuments checks what programs would refuse in the documents about Kubernetes.
func TestCheckDocuments(t *testing.T) {
	authentication := func(fields string) string {
		return document("KubeAuthenticationConfig", "configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, "+fields+"}")
	}
	encryption := func(providers string) string {
		return document("KubeEtcdEncryptionConfig", "config: {apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, "+
			"resources: [{resources: [secrets], providers: ["+providers+"]}]}")
	}

	const (
		probes = "anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}"
		secret = "c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE="
	)

	for name, test := range map[string]struct {
		patches []string
		// want is part of PATH: TEXT; empty if nothing is found.
		want string
	}{
		"authentication for probes alone": {patches: []string{authentication(probes)}},
		"authentication by tokens": {patches: []string{authentication(
			"jwt: [{issuer: {url: 'https://issuer.example', audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}]")}},
		"authentication without anonymous requests": {
			patches: []string{authentication("anonymous: {enabled: false}")}, want: "KubeAuthenticationConfig.configuration.anonymous: enabled is not true",
		},
		"authentication without a probe": {
			patches: []string{authentication("anonymous: {enabled: true, conditions: [{path: /livez}]}")}, want: "no condition has the path /readyz",
		},
		"authentication with flags": {
			patches: []string{authentication(probes), "cluster: {apiServer: {extraArgs: {oidc-issuer-url: 'https://x'}}}"},
			want:    "KubeAuthenticationConfig: the API server cannot have it beside the extra arguments oidc-issuer-url",
		},
		"authentication of an older API server": {
			patches: []string{authentication(probes), "cluster: {apiServer: {image: 'registry.k8s.io/kube-apiserver:v1.30.1'}}"},
			want:    "KubeAuthenticationConfig: the API server 1.30 does not take it",
		},
		"authentication with a field that does not exist": {
			patches: []string{authentication("tokens: []")}, want: "KubeAuthenticationConfig.configuration.tokens: there is no such field",
		},
		"another kind": {
			patches: []string{document("KubeAuthenticationConfig", "configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: X}")},
			want:    "KubeAuthenticationConfig.configuration.kind: want AuthenticationConfiguration",
		},

		"encryption": {patches: []string{encryption("{aesgcm: {keys: [{name: a, secret: " + secret + "}]}}, {identity: {}}")}},
		"encryption by the older name": {patches: []string{document("KubeEtcdEncryptionConfig",
			"config: {apiVersion: v1, kind: EncryptionConfig, resources: [{resources: [secrets], providers: [{identity: {}}]}]}")}},
		"encryption by the older name, with an unknown field": {patches: []string{document("KubeEtcdEncryptionConfig",
			"config: {apiVersion: v1, kind: EncryptionConfig, x: 1, resources: [{resources: [secrets], providers: [{identity: {}}]}]}")}, want: "config.x: there is no such field"},
		"encryption by a key service":     {patches: []string{encryption("{kms: {apiVersion: v2, name: a, endpoint: 'unix:///a'}}")}},
		"encryption with a short key":     {patches: []string{encryption("{secretbox: {keys: [{name: a, secret: aGVsbG8=}]}}")}, want: "secretbox.keys[0].secret: is not a key"},
		"encryption without keys":         {patches: []string{encryption("{secretbox: {keys: []}}")}, want: "secretbox.keys: is missing"},
		"encryption without providers":    {patches: []string{encryption("")}, want: "resources[0].providers: is missing"},
		"encryption by two at once":       {patches: []string{encryption("{identity: {}, secretbox: {keys: [{name: a, secret: " + secret + "}]}}")}, want: "providers[0]: has 2 providers"},
		"encryption with an unknown name": {patches: []string{encryption("{aes: {}}")}, want: "providers[0].aes: there is no such field"},

		"networks of nodes": {patches: []string{document("KubeNetworkConfig", "nodeCIDRMaskSizeIPv4: 26")}},
		"networks of nodes, twice": {
			patches: []string{document("KubeNetworkConfig", "nodeCIDRMaskSizeIPv4: 26"), "cluster: {controllerManager: {extraArgs: {node-cidr-mask-size: '25'}}}"},
			want:    `cluster.controllerManager.extraArgs: kube-controller-manager: extra argument "node-cidr-mask-size" is not allowed: KubeNetworkConfig`,
		},

		"kube-proxy by file":              {patches: []string{document("KubeProxyConfig", "config: {mode: ipvs, ipvs: {scheduler: wrr}, conntrack: {maxPerCore: 5}}")}},
		"kube-proxy with a wrong field":   {patches: []string{document("KubeProxyConfig", "config: {modes: ipvs}")}, want: "KubeProxyConfig.config.modes: there is no such field"},
		"kube-proxy with credentials":     {patches: []string{document("KubeProxyConfig", "config: {clientConnection: {kubeconfig: /x}}")}, want: "KubeProxyConfig.config.clientConnection.kubeconfig: the system sets it"},
		"kube-proxy with another kind":    {patches: []string{document("KubeProxyConfig", "config: {kind: X}")}, want: "KubeProxyConfig.config.kind: X is not known"},
		"kube-proxy with resources":       {patches: []string{document("KubeProxyConfig", "resources: {limits: {memory: 1Gi}}")}},
		"kube-proxy with bad resources":   {patches: []string{document("KubeProxyConfig", "resources: {limits: {memory: much}}")}, want: "KubeProxyConfig.resources.limits.memory"},
		"flannel with bad resources":      {patches: []string{document("KubeFlannelCNIConfig", "resources: {requests: {cpu: 2}, limits: {cpu: 1}}")}, want: "KubeFlannelCNIConfig.resources.limits.cpu: 1 is below the request of 2"},
		"manifests with different names":  {patches: []string{document("KubeExternalManifestConfig", "name: a\nurl: https://a.example/x"), document("KubeInlineManifestConfig", "name: b\nmanifest: '{}'")}},
		"two manifests with the one name": {patches: []string{document("KubeExternalManifestConfig", "name: a\nurl: https://a.example/x"), document("KubeInlineManifestConfig", "name: a\nmanifest: '{}'")}, want: `another manifest has the name "a" too`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, problem := range Check(controlPlane(t, test.patches...)) {
				got = append(got, problem.Path+": "+problem.Text)
			}

			if test.want == "" && len(got) > 0 ||
				test.want != "" && !slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, test.want) }) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
