// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/k8s/args"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/sys/platform"
)

// proxyPolicy are the flags of kube-proxy that the configuration may not set.
var proxyPolicy = args.Policy{
	// With a file, kube-proxy ignores most of its command line.
	"config":            args.Denied,
	"kubeconfig":        args.Denied,
	"cleanup":           args.Denied,
	"init-only":         args.Denied,
	"write-config-to":   args.Denied,
	"hostname-override": args.Denied,
	"feature-gates":     args.Additive,
}

// The identity of a KubeProxyConfiguration.
const (
	proxyVersion = "kubeproxy.config.k8s.io/v1alpha1"
	proxyKind    = "KubeProxyConfiguration"
)

// proxyArgs returns the command line of kube-proxy: all settings, or the path of the file that has them.
func proxyArgs(cfg *view.Config, p platform.Platform) ([]string, error) {
	proxy := cfg.Proxy()
	wanted := args.Set{"hostname-override": {"$(NODE_NAME)"}}

	switch {
	case len(cfg.ProxyConfiguration()) > 0:
		wanted["config"] = []string{manifests.ProxyConfigFile}
	default:
		wanted["cluster-cidr"] = []string{strings.Join(prefixes(cfg.PodSubnets()), ",")}
		wanted["kubeconfig"] = []string{manifests.ProxyKubeconfig}
		wanted["proxy-mode"] = []string{proxy.Mode}

		if sharesConntrack(p) {
			wanted["conntrack-max-per-core"], wanted["conntrack-min"] = []string{"0"}, []string{"0"}
		}
	}

	return args.Merge("kube-proxy", proxy.Image, wanted, args.Of(extraArgs(proxy.ExtraArgs)), proxyPolicy)
}

// sharesConntrack reports whether the size of the connection table is not the machine's own. The kernel has one size for all network
// namespaces. kube-proxy exits if it is not permitted to set the size; with 0 it does not set it.
func sharesConntrack(p platform.Platform) bool { return !p.Owns(platform.KernelParameters) }

// proxyConfiguration returns kube-proxy's configuration file: what the configuration says over what the flags would say. It is nil if the
// settings are flags.
func proxyConfiguration(cfg *view.Config, p platform.Platform) map[string]any {
	given := cfg.ProxyConfiguration()
	if len(given) == 0 {
		return nil
	}

	out := map[string]any{
		"apiVersion": proxyVersion, "kind": proxyKind,
		"clusterCIDR": strings.Join(prefixes(cfg.PodSubnets()), ","),
		"mode":        cfg.Proxy().Mode,
	}

	if sharesConntrack(p) {
		out["conntrack"] = map[string]any{"maxPerCore": 0, "min": 0}
	}

	out = merged(out, given)

	// The file with the credentials is the system's.
	connection, _ := out["clientConnection"].(map[string]any)
	out["clientConnection"] = merged(connection, map[string]any{"kubeconfig": manifests.ProxyKubeconfig})

	return out
}

// merged returns an object with the fields of another over its own.
func merged(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}

	for name, value := range over {
		inner, isObject := value.(map[string]any)
		own, hasObject := out[name].(map[string]any)

		if isObject && hasObject {
			out[name] = merged(own, inner)
		} else {
			out[name] = value
		}
	}

	return out
}

// checksum changes with an object.
func checksum(object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // what was decoded from YAML can be encoded
	}

	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:])
}
