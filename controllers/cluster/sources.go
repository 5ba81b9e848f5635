// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"hash/fnv"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// source is a discovery service that the machine announces itself at.
type source struct {
	name     string
	kind     cluster.SourceKind
	endpoint string // HOST:PORT
	insecure bool
	// carried is a service that a control plane carries. The authority of the machines signs its certificate, and clients prove that they know
	// the cluster's secret.
	carried bool
}

// otherAddresses returns the addresses of each control plane, by the endpoint of its source. The first one is the endpoint's own.
func otherAddresses(members []cluster.MemberSpec) map[string][]string {
	out := map[string][]string{}

	for _, m := range members {
		if !m.MachineType.IsControlPlane() || len(m.Addresses) < 2 {
			continue
		}

		var all []string
		for _, a := range m.Addresses[:min(len(m.Addresses), maxTried)] {
			all = append(all, net.JoinHostPort(a.String(), strconv.Itoa(contract.DiscoveryPort)))
		}

		out[all[0]] = all
	}

	return out
}

// maxTried bounds the addresses of a control plane that are tried, so that all are within the time that a session gives a connection.
const maxTried = 4

// maxSources bounds the sources, and so the connections.
const maxSources = 16

// sourcesOf returns the sources in the order in which they are preferred. Those of the configuration come first, because machines with other
// software announce themselves only there. The others are in an order that differs between machines, so that not all watch the same one.
func sourcesOf(own string, services []cluster.ServiceEndpoint, endpoints []k8s.EndpointSpec, members []cluster.MemberSpec) []source {
	var (
		all  []source
		seen = map[string]bool{}
	)

	add := func(s source) {
		if !seen[s.endpoint] && len(all) < maxSources {
			seen[s.endpoint] = true
			all = append(all, s)
		}
	}

	port := strconv.Itoa(contract.DiscoveryPort)

	for _, s := range services {
		_, at, _ := net.SplitHostPort(s.Endpoint)

		add(source{name: s.Name, kind: cluster.SourceService, endpoint: s.Endpoint, insecure: s.Insecure, carried: at == port && !s.Insecure})
	}

	var carried []source

	carry := func(kind cluster.SourceKind, host string) {
		carried = append(carried, source{name: "carrier/" + host, kind: kind, endpoint: net.JoinHostPort(host, port), carried: true})
	}

	for _, m := range members {
		if m.MachineType.IsControlPlane() && len(m.Addresses) > 0 {
			carry(cluster.SourceMember, m.Addresses[0].String())
		}
	}

	ofMember := func(a netip.Addr) bool {
		return slices.ContainsFunc(members, func(m cluster.MemberSpec) bool {
			return m.MachineType.IsControlPlane() && slices.Contains(m.Addresses, a)
		})
	}

	for _, e := range endpoints {
		for _, host := range e.Hosts {
			carry(cluster.SourceEndpoint, host)
		}

		for _, a := range e.Addresses {
			if !ofMember(a) { // another address of the same control plane
				carry(cluster.SourceEndpoint, a.String())
			}
		}
	}

	slices.SortFunc(carried, func(a, b source) int {
		return cmp.Or(cmp.Compare(place(own, a.endpoint), place(own, b.endpoint)), cmp.Compare(a.endpoint, b.endpoint), cmp.Compare(a.kind, b.kind))
	})

	for _, s := range carried {
		add(s)
	}

	return all
}

// place orders the sources of a machine.
func place(own, endpoint string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(own + " " + endpoint)) // it never fails

	return h.Sum32()
}
