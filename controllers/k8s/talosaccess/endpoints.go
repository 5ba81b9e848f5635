// SPDX-License-Identifier: Apache-2.0

package talosaccess

import (
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/kube"
)

// ServicePath is the Service; SlicesPath is the collection of its endpoints.
const (
	ServicePath = "/api/v1/namespaces/" + Namespace + "/services/" + Service
	SlicesPath  = "/apis/discovery.k8s.io/v1/namespaces/" + Namespace + "/endpointslices"
)

// Slices returns the endpoints of the Service: one slice for each family, also for one without addresses. They are deleted with the Service.
func Slices(serviceUID string, addresses []netip.Addr) []kube.Object {
	var out []kube.Object

	plain := make([]netip.Addr, 0, len(addresses))
	for _, addr := range addresses {
		plain = append(plain, addr.Unmap())
	}

	slices.SortFunc(plain, netip.Addr.Compare)

	for _, family := range []struct {
		kind, name string
		has        func(netip.Addr) bool
	}{{"IPv4", Service + "-ipv4", netip.Addr.Is4}, {"IPv6", Service + "-ipv6", netip.Addr.Is6}} {
		endpoints := []any{}

		for _, addr := range plain {
			if family.has(addr) {
				endpoints = append(endpoints, kube.Object{"addresses": []any{addr.String()}, "conditions": kube.Object{"ready": true}})
			}
		}

		out = append(out, kube.Object{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
			"metadata": kube.Object{
				"name": family.name, "namespace": Namespace,
				"labels": kube.Object{
					"kubernetes.io/service-name": Service, "endpointslice.kubernetes.io/managed-by": "talos.dev",
				},
				"ownerReferences": []any{kube.Object{"apiVersion": "v1", "kind": "Service", "name": Service, "uid": serviceUID}},
			},
			"addressType": family.kind,
			"endpoints":   endpoints,
			"ports":       []any{kube.Object{"name": "apid", "port": contract.APIPort, "protocol": "TCP"}},
		})
	}

	return out
}

// Empty reports whether a slice has no addresses.
func Empty(slice kube.Object) bool { return len(addressesOf(slice)) == 0 }

// Same reports whether a slice in the cluster has the addresses and the owner of another.
func Same(live, wanted kube.Object) bool {
	return slices.Equal(addressesOf(live), addressesOf(wanted)) && slices.Equal(ownersOf(live), ownersOf(wanted))
}

func addressesOf(slice kube.Object) (all []any) {
	for _, endpoint := range kube.Items(slice, "endpoints") {
		all = append(all, kube.At[[]any](endpoint, "addresses")...)
	}

	return all
}

func ownersOf(slice kube.Object) (all []any) {
	for _, owner := range kube.Items(slice, "metadata", "ownerReferences") {
		all = append(all, owner["uid"])
	}

	return all
}
