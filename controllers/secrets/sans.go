// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/seed-59268b81/talos/resources/secrets"
)

// host is how the node is called.
type host struct{ name, domain string }

func (h host) fqdn() string {
	if h.domain == "" {
		return h.name
	}

	return h.name + "." + h.domain
}

// names collects a set of names and addresses; what parses as an address is one.
type names struct {
	dns []string
	ips []netip.Addr
}

func (n *names) add(values ...string) {
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}

		if ip, err := netip.ParseAddr(v); err == nil {
			n.ips = append(n.ips, ip)
		} else {
			n.dns = append(n.dns, v)
		}
	}
}

func (n *names) spec(fqdn string) secrets.CertSANSpec {
	return secrets.CertSANSpec{IPs: sortedIPs(n.ips), DNSNames: sortedSet(n.dns), FQDN: fqdn}
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// ofNode returns the names and addresses of the node itself.
func ofNode(h host, addrs []netip.Addr) names {
	n := names{ips: append([]netip.Addr{loopback}, addrs...)}
	n.add("localhost", h.name, h.fqdn())

	return n
}

// apiSANs is what apid answers to.
func apiSANs(root secrets.OSRootSpec, h host, addrs []netip.Addr) secrets.CertSANSpec {
	n := ofNode(h, addrs)
	n.add(root.CertSANDNSNames...)
	n.ips = append(n.ips, root.CertSANIPs...)

	return n.spec(h.fqdn())
}

// kubernetesSANs is what the API server of this node answers to.
func kubernetesSANs(root secrets.KubernetesRootSpec, h host, addrs []netip.Addr) secrets.CertSANSpec {
	n := ofNode(h, addrs)

	for _, endpoint := range []secrets.URL{root.Endpoint, root.LocalEndpoint} {
		if u, err := url.Parse(endpoint.FullPath); err == nil {
			n.add(u.Hostname())
		}
	}

	n.add(root.CertSANs...)
	n.add("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+root.DNSDomain)
	n.ips = append(n.ips, root.APIServerIPs...)

	return n.spec(h.fqdn())
}

// maintenanceSANs is what apid answers to before there is a configuration.
func maintenanceSANs(_ secrets.MaintenanceRootSpec, h host, addrs []netip.Addr) secrets.CertSANSpec {
	return apiSANs(secrets.OSRootSpec{}, h, addrs)
}
