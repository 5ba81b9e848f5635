// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/documents/runtime"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// documents checks documents beside each other. merged is the v1alpha1 document with what they say.
func (c *check) documents(cfg *config.Config, merged *v1alpha1.Config) {
	if resolver := config.Find[*network.ResolverConfig](cfg); resolver != nil {
		c.encryptedResolvers(resolver, merged.Machine.Features.HostDNS)
	}

	c.containers(config.All[*runtime.ContainerConfig](cfg))

	for _, d := range cfg.Documents() {
		if creates(d) {
			if err := new(value.LinkName).UnmarshalText([]byte(d.Name())); err != nil {
				c.wrong(document.Path(d)+".name", "%v", err)
			}
		}
	}
}

// encryptedResolvers reports name servers that nothing on the machine could ask. Only its own DNS server asks over TLS; pods, and the DNS server
// of Kubernetes, do not.
func (c *check) encryptedResolvers(resolver *network.ResolverConfig, own v1alpha1.HostDNS) {
	plain := len(resolver.NameServers) == 0

	for i, server := range resolver.NameServers {
		plain = plain || !server.Encrypted()

		if server.Encrypted() && !v1alpha1.IsTrue(own.Enabled) {
			c.wrong(index("ResolverConfig.nameservers", i)+".protocol", "%s needs the machine's own DNS server: set hostDNS.enabled to true", server.Protocol)
		}
	}

	if !plain && v1alpha1.IsTrue(own.Enabled) && !v1alpha1.IsTrue(own.ForwardKubeDNSToHost) {
		c.wrong("ResolverConfig.nameservers", "pods cannot ask any of these servers, which want TLS: set hostDNS.forwardKubeDNSToHost to true, so that they ask the "+
			"machine's own DNS server, or add a server with the protocol Do53")
	}
}

// creates reports whether the name of a document is that of a link which the kernel creates, and not an alias of one.
func creates(d config.Document) bool {
	switch d.(type) {
	case *network.BondConfig, *network.BridgeConfig, *network.DummyLinkConfig, *network.VethConfig, *network.VLANConfig, *network.VRFConfig,
		*network.WireguardConfig:
		return true
	default:
		return false
	}
}

// containers reports containers that wait for each other, or for one that there is not.
func (c *check) containers(all []*runtime.ContainerConfig) {
	const key = ".dependsOn.containers"

	named := map[string]*runtime.ContainerConfig{}
	for _, container := range all {
		named[container.DocName] = container
	}

	var (
		way  []string // of containers of which each waits for the next one
		seen = map[string]bool{}
	)

	var visit func(container *runtime.ContainerConfig)

	visit = func(container *runtime.ContainerConfig) {
		seen[container.DocName] = true
		way = append(way, container.DocName)

		for i, name := range container.DependsOn.Containers {
			next := named[name]

			switch at := slices.Index(way, name); {
			case next == nil:
				c.wrong(index(document.Path(container)+key, i), "there is no ContainerConfig %q: the container would never start", name)
			case at >= 0:
				c.wrong(index(document.Path(container)+key, i), "the containers %s wait for each other: none would start",
					strings.Join(append(slices.Clone(way[at:]), name), " -> "))
			case !seen[name]:
				visit(next)
			}
		}

		way = way[:len(way)-1]
	}

	for _, container := range all {
		if !seen[container.DocName] {
			visit(container)
		}
	}
}
