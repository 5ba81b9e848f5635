// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// members follows the members of the cluster. A cluster may have thousands: each change costs what it changes, and not a read of all.
type members map[string]cluster.MemberSpec

// isMember reports whether an event is about a member.
func isMember(e state.Event) bool {
	switch e.Type {
	case state.Created, state.Updated, state.Destroyed:
		return e.Resource.Metadata().Type() == memberKind.Type
	default:
		return false
	}
}

// apply takes an event about a member.
func (m members) apply(e state.Event) error {
	id := e.Resource.Metadata().ID()

	if e.Type == state.Destroyed {
		delete(m, id)

		return nil
	}

	r, err := typed.As[cluster.MemberSpec](e.Resource)
	if err == nil {
		m[id] = *r.TypedSpec()
	}

	return err
}

// byName returns the addresses of the members by their names: that in Kubernetes, and the hostname with and without its domain. The first
// kind of name wins.
func (m members) byName() map[string][]netip.Addr {
	out := map[string][]netip.Addr{}

	add := func(name string, addresses []netip.Addr) {
		if name = strings.ToLower(name); name != "" && out[name] == nil && len(addresses) > 0 {
			out[name] = addresses
		}
	}

	names := slices.Sorted(maps.Keys(m))

	for _, name := range names {
		add(name, m[name].Addresses)
	}

	for _, name := range names {
		add(m[name].Hostname, m[name].Addresses)
	}

	for _, name := range names {
		short, _, _ := strings.Cut(m[name].Hostname, ".")
		add(short, m[name].Addresses)
	}

	return out
}

// maxTried is how many addresses of a member are tried.
const maxTried = 4

// dialNode connects to HOST:PORT. A host that is a member's name is not looked up in DNS. The node must still have a certificate for that name:
// discovery says where a node is, and not who it is.
func dialNode(ctx context.Context, v *View, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}

	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}

	known := v.Members[strings.ToLower(host)]
	if len(known) == 0 {
		return dialer.DialContext(ctx, "tcp", address)
	}

	known = known[:min(len(known), maxTried)]

	var failures []error

	// All of them share the time.
	dialer.Timeout /= time.Duration(len(known))

	for _, a := range known {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}

		failures = append(failures, err)
	}

	return nil, errors.Join(failures...)
}
