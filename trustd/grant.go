// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Reserved are the names and addresses of the control plane, which no other node may have. Names are in lower case.
type Reserved struct {
	Names     map[string]bool
	Addresses map[netip.Addr]bool
	// Declared are the addresses that are reserved only because of machine.certSANs, where a cluster may list all its nodes. A
	// node that calls from such an address may have it.
	Declared map[netip.Addr]bool
}

func newReserved() Reserved {
	return Reserved{Names: map[string]bool{}, Addresses: map[netip.Addr]bool{}, Declared: map[netip.Addr]bool{}}
}

// declare adds addresses of machine.certSANs that are not reserved already. Call it last.
func (r *Reserved) declare(addrs []netip.Addr) {
	for _, addr := range addrs {
		if addr = addr.Unmap(); addr.IsValid() && !addr.IsLoopback() && !r.Addresses[addr] {
			r.Addresses[addr], r.Declared[addr] = true, true
		}
	}
}

// add reserves names and addresses, except localhost and loopback addresses.
func (r *Reserved) add(names []string, addrs []netip.Addr) {
	for _, name := range names {
		if name = strings.ToLower(name); name != "localhost" && name != "" {
			r.Names[name] = true
		}
	}

	for _, addr := range addrs {
		if addr = addr.Unmap(); addr.IsValid() && !addr.IsLoopback() {
			r.Addresses[addr] = true
		}
	}
}

// Grant returns the part of a request that a node may have if it calls from an address, and what is left out.
//
// The request must contain that address: a node requests certificates only for itself. The exception is an address of the control
// plane, from which a load balancer may pass calls on.
func (r *Request) Grant(from netip.Addr, reserved Reserved) (granted Request, left []string, err error) {
	from = from.Unmap().WithZone("")

	if !reserved.Addresses[from] && !slices.Contains(r.Addresses, from) {
		return Request{}, nil, fmt.Errorf("the request comes from %s, which is not among the addresses that it contains: a node may request a certificate only for itself "+
			"(if the network translates its address, list %s in machine.certSANs of the node)", from, from)
	}

	granted, left = r.keep(
		func(addr netip.Addr) bool {
			return !reserved.Addresses[addr] || addr == from && reserved.Declared[addr]
		},
		func(name string) bool { return !reserved.Names[strings.ToLower(name)] },
	)

	return granted, left, nil
}

// keep returns the part of a request whose addresses and names pass, and what does not.
func (r *Request) keep(address func(netip.Addr) bool, name func(string) bool) (kept Request, left []string) {
	kept.Key = r.Key

	for _, addr := range r.Addresses {
		if address(addr) {
			kept.Addresses = append(kept.Addresses, addr)
		} else {
			left = append(left, addr.String())
		}
	}

	for _, n := range r.DNSNames {
		if name(n) {
			kept.DNSNames = append(kept.DNSNames, n)
		} else {
			left = append(left, n)
		}
	}

	if r.CommonName == "" || name(r.CommonName) {
		kept.CommonName = r.CommonName
	} else {
		left = append(left, "CN="+r.CommonName)
	}

	return kept, left
}
