// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

func (c *check) cluster(cl *v1alpha1.ClusterConfig) {
	const endpoint = "cluster.controlPlane.endpoint"

	switch url := cl.ControlPlane.Endpoint; {
	case url.IsZero():
		c.wrong(endpoint, "is missing: want the URL of the API servers, such as https://10.5.0.2:6443")
	case url.Scheme != "https":
		c.wrong(endpoint, "%q: the scheme is %q: want https", url.String(), url.Scheme)
	}

	if port := cl.ControlPlane.LocalAPIServerPort; port < 0 || port > 65535 {
		c.wrong("cluster.controlPlane.localAPIServerPort", "%d is not a port", port)
	}

	c.token("cluster.token", cl.Token)
	c.accepted("cluster.acceptedCAs", cl.AcceptedCAs)

	for _, image := range []struct{ path, reference string }{
		{"cluster.etcd.image", cl.Etcd.Image},
		{"cluster.apiServer.image", cl.APIServer.Image},
		{"cluster.controllerManager.image", cl.ControllerManager.Image},
		{"cluster.scheduler.image", cl.Scheduler.Image},
		{"cluster.proxy.image", cl.Proxy.Image},
		{"cluster.coreDNS.image", cl.CoreDNS.Image},
	} {
		c.image(image.path, image.reference)
	}
}

func (c *check) clusterNetwork(n *v1alpha1.ClusterNetwork) {
	if n.DNSDomain != "" && !dnsName(n.DNSDomain) {
		c.wrong("cluster.network.dnsDomain", "%q is not a domain name", n.DNSDomain)
	}

	c.families("cluster.network.podSubnets", n.PodSubnets)
	c.families("cluster.network.serviceSubnets", n.ServiceSubnets)

	for _, pod := range n.PodSubnets {
		for _, service := range n.ServiceSubnets {
			if pod.IsValid() && service.IsValid() && pod.Overlaps(service) {
				c.wrong("cluster.network", "the pod network %s and the service network %s overlap: move one", pod, service)
			}
		}
	}

	c.oneOf("cluster.network.cni.name", n.CNI.Name, "flannel", "custom", "none")

	switch {
	case n.CNI.Name == "custom" && len(n.CNI.URLs) == 0:
		c.wrong("cluster.network.cni.urls", "is missing: a custom CNI needs the URLs of its manifests (or set name to none)")
	case n.CNI.Name != "custom" && len(n.CNI.URLs) > 0:
		c.wrong("cluster.network.cni.urls", "have no effect unless name is custom")
	}
}

// families checks that a list has at most one IPv4 network and one IPv6 network, as Kubernetes requires.
func (c *check) families(path string, list []netip.Prefix) {
	count := map[bool]int{}

	for i, prefix := range list {
		if !prefix.IsValid() {
			c.wrong(index(path, i), "is empty")

			continue
		}

		is4 := prefix.Addr().Is4()

		if count[is4]++; count[is4] == 2 {
			c.wrong(index(path, i), "%s is the second network of its family: want at most one for IPv4 and one for IPv6", prefix)
		}
	}
}

// discovery checks the settings that discovery needs.
func (c *check) discovery(main *v1alpha1.Config) {
	enabled := v1alpha1.IsTrue(main.Cluster.Discovery.Enabled)

	if v1alpha1.IsTrue(main.Machine.Network.KubeSpan.Enabled) && !enabled {
		c.wrong("machine.network.kubespan.enabled", "KubeSpan needs discovery: turn cluster.discovery.enabled on, or add a DiscoveryServiceConfig")
	}

	if enabled {
		for _, f := range []struct{ path, value string }{{"cluster.id", main.Cluster.ID}, {"cluster.secret", main.Cluster.Secret}} {
			if f.value == "" {
				c.wrong(f.path, "is missing: discovery needs it (or turn cluster.discovery.enabled off)")
			}
		}

		c.discoveryKey(main.Cluster.Secret)
		c.discoveryEndpoint(main.Cluster.Discovery.Registries.Service.Endpoint)
	}
}

// discoveryKey checks the key of the main document. It is a secret, so that the message does not show it.
func (c *check) discoveryKey(text string) {
	if text != "" && !value.IsKey(text) {
		c.wrong("cluster.secret", "want %d bytes in base64, as \"talosctl gen secrets\" makes them", value.KeySize)
	}
}

func (c *check) discoveryEndpoint(text string) {
	const path = "cluster.discovery.registries.service.endpoint"

	if text == "" {
		return
	}

	url, err := value.ParseURL(text)

	switch {
	case err != nil:
		c.wrong(path, "%v", err)
	case !slices.Contains(value.DiscoverySchemes, url.Scheme):
		c.wrong(path, "%q: the scheme is %q: want one of %s", text, url.Scheme, strings.Join(value.DiscoverySchemes, ", "))
	case url.Path != "" && url.Path != "/":
		c.wrong(path, "%q has a path: want the scheme, the host and the port only", text)
	}
}
