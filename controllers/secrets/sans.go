// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/seed-59268b81/talos/resources/secrets"
)

// host is the name of the node.
type host struct{ name, domain string }

func (h host) fqdn() string {
	if h.domain == "" {
		return h.name
	}

	return h.name + "." + h.domain
}

// names collects names and addresses. A string that parses as an address counts as one.
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

// apiSANs returns the names and addresses of apid.
func apiSANs(root secrets.OSRootSpec, h host, addrs []netip.Addr) secrets.CertSANSpec {
	n := ofNode(h, addrs)
	n.add(root.CertSANDNSNames...)
	n.ips = append(n.ips, root.CertSANIPs...)

	return n.spec(h.fqdn())
}

// kubernetesSANs returns the names and addresses of this node's API server.
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

// maintenanceSANs returns the names and addresses of apid before there is a configuration.
func maintenanceSANs(_ secrets.MaintenanceRootSpec, h host, addrs []netip.Addr) secrets.CertSANSpec {
	return apiSANs(secrets.OSRootSpec{}, h, addrs)
}
