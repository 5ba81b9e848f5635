// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// Trust says which headers say where a call comes from. A client can send any header, so they count only when the connection comes from
// a proxy.
type Trust struct {
	RealIP, ForwardedFor bool
	Proxies              []netip.Prefix
}

// caller returns the address that a call comes from, or an invalid one.
func (t Trust) caller(ctx context.Context) netip.Addr {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return netip.Addr{}
	}

	tcp, ok := p.Addr.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}

	addr := tcp.AddrPort().Addr().Unmap()

	if !slices.ContainsFunc(t.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return addr
	}

	md, _ := metadata.FromIncomingContext(ctx)

	if t.RealIP {
		if said, ok := first(md.Get("x-real-ip")); ok {
			return said
		}
	}

	if t.ForwardedFor {
		if said, ok := first(md.Get("x-forwarded-for")); ok {
			return said
		}
	}

	return addr
}

// first returns the first address of a header.
func first(values []string) (netip.Addr, bool) {
	if len(values) == 0 {
		return netip.Addr{}, false
	}

	text, _, _ := strings.Cut(values[0], ",")

	addr, err := netip.ParseAddr(strings.TrimSpace(text))

	return addr.Unmap().WithZone(""), err == nil
}
