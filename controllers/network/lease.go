// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/dhcp4"
)

// leaseSpecs are the specs that follow from a DHCP lease.
type leaseSpecs struct {
	addresses   []network.AddressSpecSpec
	links       []network.LinkSpecSpec
	routes      []network.RouteSpecSpec
	hostnames   []network.HostnameSpecSpec
	resolvers   []network.ResolverSpecSpec
	timeServers []network.TimeServerSpecSpec
}

// fromLease turns a lease into specs. Echo is a name that the server only repeats, which says nothing.
func fromLease(op network.OperatorSpecSpec, lease *dhcp4.Lease, echo string) leaseSpecs {
	link := op.LinkName
	specs := leaseSpecs{addresses: []network.AddressSpecSpec{addressSpec(link, lease.Address, network.LayerOperator)}}

	if lease.MTU != 0 {
		specs.links = []network.LinkSpecSpec{{Name: link, Up: true, MTU: lease.MTU, Layer: network.LayerOperator}}
	}

	if !op.DHCP4.SkipRoutes {
		specs.routes = leaseRoutes(op, lease)
	}

	if lease.Hostname != "" && !strings.EqualFold(lease.Hostname, echo) && !op.DHCP4.SkipHostnameRequest {
		spec := network.HostnameSpecSpec{Layer: network.LayerOperator}
		if err := spec.ParseFQDN(lease.Hostname); err == nil {
			if spec.Domainname == "" {
				spec.Domainname = lease.Domain
			}

			specs.hostnames = []network.HostnameSpecSpec{spec}
		}
	}

	search := lease.Search
	if len(search) == 0 && lease.Domain != "" {
		search = []string{lease.Domain}
	}

	if len(lease.DNS)+len(search) > 0 {
		specs.resolvers = []network.ResolverSpecSpec{{DNSServers: lease.DNS, SearchDomains: search, Layer: network.LayerOperator}}
	}

	if len(lease.NTP) > 0 {
		spec := network.TimeServerSpecSpec{Layer: network.LayerOperator}
		for _, server := range lease.NTP {
			spec.NTPServers = append(spec.NTPServers, server.String())
		}

		specs.timeServers = []network.TimeServerSpecSpec{spec}
	}

	return specs
}

// leaseRoutes are the lease's routes. Several default routers are tried in their order, by growing metrics. A
// router outside of the own network gets a route of its own.
func leaseRoutes(op network.OperatorSpecSpec, lease *dhcp4.Lease) []network.RouteSpecSpec {
	var specs []network.RouteSpecSpec

	used := map[netip.Prefix]uint32{}

	add := func(destination netip.Prefix, gateway netip.Addr) {
		metric := op.DHCP4.RouteMetric + used[destination]
		used[destination]++

		spec := routeSpec(op.LinkName, destination, gateway, metric, network.LayerOperator)
		spec.Source, spec.Protocol = lease.Address.Addr(), nethelpers.ProtocolDHCP
		specs = append(specs, spec)
	}

	for _, r := range lease.Routes {
		if r.Gateway.IsValid() && !lease.Address.Masked().Contains(r.Gateway) {
			if onLink := netip.PrefixFrom(r.Gateway, 32); used[onLink] == 0 {
				add(onLink, netip.Addr{})
			}
		}

		add(r.Destination, r.Gateway)
	}

	return specs
}
