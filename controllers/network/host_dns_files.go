// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// hostDNS is the state of the machine's own DNS server.
type hostDNS struct {
	network.HostDNSConfigSpec

	running map[string]bool // by the id of the listener
}

func readHostDNS(ctx context.Context, rt controller.Runtime) (hostDNS, error) {
	dns := hostDNS{running: map[string]bool{}}

	if f := typed.Read(ctx, rt, network.HostDNSConfigID, &dns.HostDNSConfigSpec); f.Err != nil {
		return dns, f.Err
	}

	listeners, err := typed.List[network.DNSResolveCacheSpec](ctx, rt, "")

	for _, l := range listeners {
		dns.running[l.Metadata().ID()] = l.Metadata().Phase() == resource.PhaseRunning && l.TypedSpec().Status == network.DNSRunning
	}

	return dns, err
}

// servers returns the name servers of the machine and of pods. A DNS server of the machine that does not run is not used: its clients ask
// the others themselves, but those that want TLS.
func (dns hostDNS) servers(r network.ResolverStatusSpec) (machine, pods []netip.Addr) {
	machine = slices.DeleteFunc(slices.Clone(r.DNSServers), func(a netip.Addr) bool {
		plain := func(s network.NameServerSpec) bool { return s.Addr == a && s.Protocol == nethelpers.DNSProtocolDo53 }

		return !slices.ContainsFunc(nameServers(r), plain)
	})
	pods = machine

	answers := func(a netip.Addr) bool {
		return dns.Enabled && dns.running[network.DNSResolveCacheID("udp", netip.AddrPortFrom(a, network.HostDNSLoopback.Port()))]
	}

	if answers(network.HostDNSLoopback.Addr()) {
		machine = []netip.Addr{network.HostDNSLoopback.Addr()}
	}

	// One that does not answer would delay each lookup, so a pod gets those that do.
	var own []netip.Addr

	for _, a := range []netip.Addr{dns.ServiceHostDNSAddress, dns.ServiceHostDNSAddressV6} {
		if a.IsValid() && answers(a) {
			own = append(own, a)
		}
	}

	if len(own) > 0 {
		pods = own
	}

	return machine, pods
}
