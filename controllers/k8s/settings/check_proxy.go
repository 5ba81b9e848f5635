// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
	"github.com/seed-59268b81/talos/sys/platform"
)

// proxyConfiguration checks the configuration file of kube-proxy.
func (c *check) proxyConfiguration() {
	const at = "KubeProxyConfig.config"

	given := c.cfg.ProxyConfiguration()
	if len(given) == 0 {
		return
	}

	for key, want := range map[string]string{"apiVersion": proxyVersion, "kind": proxyKind} {
		if value, set := given[key]; set && value != want {
			c.wrong(at+"."+key, "%v is not known: want %s, or none", value, want)
		}
	}

	if connection, ok := given["clientConnection"].(map[string]any); ok && connection["kubeconfig"] != nil {
		c.wrong(at+".clientConnection.kubeconfig", "the system sets it: remove it")
	}

	if given["hostnameOverride"] != nil {
		c.wrong(at+".hostnameOverride", "the system sets it to the name of the Node: remove it")
	}

	c.object(at, schemas.KubeProxyConfiguration, proxyConfiguration(c.cfg, platform.Platform{}))
}
