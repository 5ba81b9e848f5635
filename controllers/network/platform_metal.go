// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// metalPlatformConfig decodes the value of META with the network of a machine that is on no cloud. All of it is of layer platform.
func metalPlatformConfig(text []byte) (spec network.PlatformConfigSpec, err error) {
	// The value may have any content, and the YAML library may panic.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser panicked: %v", r)
		}
	}()

	if err := yaml.Unmarshal(text, &spec); err != nil {
		return network.PlatformConfigSpec{}, err
	}

	layer := network.LayerPlatform

	for i := range spec.Addresses {
		a := &spec.Addresses[i]
		if !a.Address.IsValid() || a.LinkName == "" {
			return network.PlatformConfigSpec{}, fmt.Errorf("addresses[%d]: want an address and a linkName", i)
		}

		*a = addressSpec(a.LinkName, a.Address, layer)
	}

	for i := range spec.Links {
		if spec.Links[i].Name == "" {
			return network.PlatformConfigSpec{}, fmt.Errorf("links[%d]: want a name", i)
		}

		spec.Links[i].Layer = layer
	}

	for i := range spec.Routes {
		var err error
		if spec.Routes[i], err = metalRoute(spec.Routes[i]); err != nil {
			return network.PlatformConfigSpec{}, fmt.Errorf("routes[%d]: %w", i, err)
		}
	}

	for i := range spec.Hostnames {
		spec.Hostnames[i].Layer = layer
	}

	for i := range spec.Resolvers {
		spec.Resolvers[i].Layer = layer
	}

	for i := range spec.TimeServers {
		spec.TimeServers[i].Layer = layer
	}

	for i := range spec.Operators {
		o := &spec.Operators[i]
		if o.LinkName == "" {
			return network.PlatformConfigSpec{}, fmt.Errorf("operators[%d]: want a linkName", i)
		}

		o.Layer = layer

		if o.Operator == network.OperatorDHCP4 {
			o.DHCP4.RouteMetric = cmp.Or(o.DHCP4.RouteMetric, network.DefaultRouteMetric)
		}
	}

	for i := range spec.Probes {
		p := &spec.Probes[i]
		if (p.TCP.Endpoint == "") == (p.HTTP.URL.FullPath == "") {
			return network.PlatformConfigSpec{}, fmt.Errorf("probes[%d]: want either tcp.endpoint or http.url", i)
		}

		p.Layer, p.Interval = layer, cmp.Or(p.Interval, view.DefaultProbeInterval)
		p.FailureThreshold = max(1, p.FailureThreshold)

		if p.TCP.Endpoint != "" {
			p.TCP.Timeout = cmp.Or(p.TCP.Timeout, view.DefaultProbeTimeout)
		} else {
			p.HTTP.Timeout = cmp.Or(p.HTTP.Timeout, view.DefaultProbeTimeout)
		}
	}

	spec.ExternalIPs = slices.DeleteFunc(spec.ExternalIPs, func(a netip.Addr) bool { return !a.IsValid() })

	return spec, nil
}

var (
	errMetalRoute   = errors.New("want a gateway or a dst, and an outLinkName")
	errMetalNextHop = errors.New("want an outLinkName in each of nextHops, and a gateway in one of them or a dst")
	errMetalNowhere = errors.New("want a dst, which says the family")
)

// metalRoute returns a route of META with its defaults, in the form in which the kernel returns it.
func metalRoute(r network.RouteSpecSpec) (network.RouteSpecSpec, error) {
	link, gateway := r.OutLinkName, r.Gateway
	noLink := func(hop network.RouteNextHop) bool { return hop.OutLinkName == "" }

	switch {
	case toNowhere(r.Type):
		if !r.Destination.IsValid() {
			return r, errMetalNowhere
		}

		link, gateway, r.NextHops = "", netip.Addr{}, nil
	case len(r.NextHops) > 0: // they are in place of the gateway and the link
		link, gateway = "", firstGateway(r.NextHops)

		if slices.ContainsFunc(r.NextHops, noLink) || !gateway.IsValid() && !r.Destination.IsValid() {
			return r, errMetalNextHop
		}
	default:
		if !gateway.IsValid() && !r.Destination.IsValid() || link == "" {
			return r, errMetalRoute
		}
	}

	full := routeSpec(link, r.Destination, gateway, cmp.Or(r.Priority, network.DefaultRouteMetric), network.LayerPlatform)
	full.Source, full.MTU, full.Table = r.Source, r.MTU, cmp.Or(r.Table, full.Table)
	full.Type, full.Flags, full.NextHops = cmp.Or(r.Type, full.Type), r.Flags, r.NextHops

	if len(r.NextHops) > 0 {
		full.Gateway = netip.Addr{}
	}

	switch {
	case toNowhere(r.Type):
		full.Scope = nethelpers.ScopeGlobal
	case r.Type == nethelpers.TypeLocal && full.Family == nethelpers.FamilyInet4:
		full.Scope = nethelpers.ScopeHost
	}

	return full, nil
}

// toNowhere reports whether packets that take a route of this type are not sent. Such a route has no link.
func toNowhere(t nethelpers.RouteType) bool {
	switch t {
	case nethelpers.TypeBlackhole, nethelpers.TypeUnreachable, nethelpers.TypeProhibit, nethelpers.TypeThrow:
		return true
	default:
		return false
	}
}

// firstGateway returns the gateway of the first next hop that has one.
func firstGateway(hops []network.RouteNextHop) netip.Addr {
	for _, hop := range hops {
		if hop.Gateway.IsValid() && !hop.Gateway.IsUnspecified() {
			return hop.Gateway
		}
	}

	return netip.Addr{}
}
