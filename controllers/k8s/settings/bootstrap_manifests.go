// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"net"
	"strconv"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// BootstrapManifests returns the settings of the built-in manifests.
func BootstrapManifests(cfg *view.Config, p platform.Platform) (*k8s.BootstrapManifestsConfigSpec, error) {
	proxy, dns, cni, flannel := cfg.Proxy(), cfg.CoreDNS(), cfg.CNI(), cfg.Flannel()
	host, port := nodeEndpoint(cfg)
	_, apiAccess := cfg.TalosAPIAccess()

	spec := &k8s.BootstrapManifestsConfigSpec{
		Server:                    "https://" + net.JoinHostPort(host, port),
		ClusterDomain:             cfg.DNSDomain(),
		PodCIDRs:                  prefixes(cfg.PodSubnets()),
		ProxyEnabled:              !view.IsTrue(proxy.Disabled),
		ProxyImage:                proxy.Image,
		ProxyConfig:               proxyConfiguration(cfg, p),
		ProxyResources:            resources(cfg.ProxyResources()),
		CoreDNSEnabled:            !view.IsTrue(dns.Disabled),
		CoreDNSImage:              dns.Image,
		CNIName:                   cni.Name,
		FlannelEnabled:            cni.Name == view.CNIFlannel,
		FlannelImage:              images.DefaultFlannel,
		FlannelExtraArgs:          flannel.ExtraArgs,
		FlannelKubeServiceHost:    host,
		FlannelKubeServicePort:    port,
		FlannelBackendType:        flannel.BackendType,
		FlannelBackendPort:        uint32(flannel.BackendPort), // a port
		FlannelBackendMTU:         uint32(flannel.BackendMTU),  // at most 65535
		FlannelBackendExtraConfig: flannel.BackendExtra,
		FlannelResources:          resources(flannel.Resources),
		TalosAPIServiceEnabled:    apiAccess,

		FlannelKubeNetworkPoliciesEnabled: flannel.NetworkPolicies,
		FlannelKubeNetworkPoliciesImage:   images.DefaultKubeNetworkPolicies,
	}

	var err error

	if spec.ProxyArgs, err = proxyArgs(cfg, p); err != nil {
		return nil, err
	}

	if len(spec.ProxyConfig) > 0 {
		spec.ProxyConfigChecksum = checksum(spec.ProxyConfig)
	}

	for _, ip := range dnsServiceIPs(cfg) {
		if ip.Is4() {
			spec.DNSServiceIP = ip.String()
		} else {
			spec.DNSServiceIPv6 = ip.String()
		}
	}

	return spec, nil
}

// nodeEndpoint returns where the programs of a node reach the API servers without the cluster's own network: KubePrism if it is enabled,
// otherwise the cluster's endpoint.
func nodeEndpoint(cfg *view.Config) (host, port string) {
	if port, on := cfg.KubePrismPort(); on {
		return "127.0.0.1", strconv.Itoa(port)
	}

	endpoint := cfg.Endpoint()

	return endpoint.Hostname(), cmp.Or(endpoint.Port(), "443")
}
