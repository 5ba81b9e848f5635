// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/k8s/args"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// vxlanPort is the port that IANA has assigned; the kernel's default is an older one.
const vxlanPort = 4789

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

// BootstrapManifests returns the settings of the built-in manifests.
func BootstrapManifests(cfg *view.Config, p platform.Platform) (*k8s.BootstrapManifestsConfigSpec, error) {
	proxy, dns, cni := cfg.Proxy(), cfg.CoreDNS(), cfg.CNI()
	host, port := nodeEndpoint(cfg)

	wanted := args.Set{
		"cluster-cidr":      {strings.Join(prefixes(cfg.PodSubnets()), ",")},
		"hostname-override": {"$(NODE_NAME)"},
		"kubeconfig":        {"/etc/kubernetes/kubeconfig"},
		"proxy-mode":        {proxy.Mode},
	}

	// The kernel has one size of the connection table for all network namespaces. kube-proxy exits if it is not permitted to set the size; with
	// 0 it does not set it.
	if !p.Owns(platform.KernelParameters) {
		wanted["conntrack-max-per-core"], wanted["conntrack-min"] = []string{"0"}, []string{"0"}
	}

	proxyArgs, err := args.Merge("kube-proxy", proxy.Image, wanted, args.Of(extraArgs(proxy.ExtraArgs)), proxyPolicy)
	if err != nil {
		return nil, err
	}

	spec := &k8s.BootstrapManifestsConfigSpec{
		Server:                 "https://" + net.JoinHostPort(host, port),
		ClusterDomain:          cfg.DNSDomain(),
		PodCIDRs:               prefixes(cfg.PodSubnets()),
		ProxyEnabled:           !view.IsTrue(proxy.Disabled),
		ProxyImage:             proxy.Image,
		ProxyArgs:              proxyArgs,
		CoreDNSEnabled:         !view.IsTrue(dns.Disabled),
		CoreDNSImage:           dns.Image,
		CNIName:                cni.Name,
		FlannelEnabled:         cni.Name == view.CNIFlannel,
		FlannelImage:           images.DefaultFlannel,
		FlannelExtraArgs:       cni.Flannel.ExtraArgs,
		FlannelKubeServiceHost: host,
		FlannelKubeServicePort: port,
		FlannelBackendType:     "vxlan",
		FlannelBackendPort:     vxlanPort,
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
