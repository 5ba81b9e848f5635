// SPDX-License-Identifier: Apache-2.0

package network

import (
	"math"
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

// fromLease returns the specs of a lease. Echo is the name that the client sent: a server that only repeats it gives no name.
func fromLease(op network.OperatorSpecSpec, lease *dhcp4.Lease, echo string) leaseSpecs {
	link := op.LinkName
	specs := leaseSpecs{addresses: []network.AddressSpecSpec{addressSpec(link, lease.Address, network.LayerOperator)}}

	if lease.MTU != 0 {
		specs.links = []network.LinkSpecSpec{{Name: link, Up: true, MTU: lease.MTU, Layer: network.LayerOperator}}
	}

	if !op.DHCP4.SkipRoutes {
		specs.routes = leaseRoutes(op, lease)
	}

	if !op.DHCP4.SkipHostnameRequest {
		specs.hostnames = leasedHostname(lease.Hostname, lease.Domain, echo)
	}

	search := lease.Search
	if len(search) == 0 && lease.Domain != "" {
		search = []string{lease.Domain}
	}

	specs.resolvers = leasedResolvers(lease.DNS, search)
	specs.timeServers = leasedTimeServers(lease.NTP)

	return specs
}

// leasedHostname returns a server's name for the machine, in the network's domain if the name has none.
func leasedHostname(name, domain, echo string) []network.HostnameSpecSpec {
	spec := network.HostnameSpecSpec{Layer: network.LayerOperator}

	if name == "" || strings.EqualFold(name, echo) || spec.ParseFQDN(name) != nil {
		return nil
	}

	if spec.Domainname == "" {
		spec.Domainname = domain
	}

	return []network.HostnameSpecSpec{spec}
}

func leasedResolvers(servers []netip.Addr, search []string) []network.ResolverSpecSpec {
	if len(servers)+len(search) == 0 {
		return nil
	}

	return []network.ResolverSpecSpec{{DNSServers: servers, SearchDomains: search, Layer: network.LayerOperator}}
}

func leasedTimeServers(servers []netip.Addr) []network.TimeServerSpecSpec {
	if len(servers) == 0 {
		return nil
	}

	spec := network.TimeServerSpecSpec{Layer: network.LayerOperator}
	for _, server := range servers {
		spec.NTPServers = append(spec.NTPServers, server.String())
	}

	return []network.TimeServerSpecSpec{spec}
}

// leaseRoutes returns the lease's routes. Several default routers are used in their order, by increasing metrics. A router outside of the
// lease's network gets a route of its own.
func leaseRoutes(op network.OperatorSpecSpec, lease *dhcp4.Lease) []network.RouteSpecSpec {
	var specs []network.RouteSpecSpec

	used := map[netip.Prefix]uint32{}

	add := func(destination netip.Prefix, gateway netip.Addr) {
		metric := op.DHCP4.RouteMetric + min(used[destination], math.MaxUint32-op.DHCP4.RouteMetric) // no overflow to 0, the most preferred
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
