// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/dnsname"
	"github.com/seed-59268b81/talos/sys/netlinkgroup"
)

// RouterOption is an option of a router advertisement that the kernel leaves to programs (RFC 8106): name servers, or search domains. A
// later option of the same link sets a new lifetime; a Lifetime of 0 withdraws them.
type RouterOption struct {
	LinkIndex  uint32
	DNSServers []netip.Addr
	Search     []string
	// Lifetime is 1<<32-1 seconds for an infinite one.
	Lifetime time.Duration
}

// WatchRouterOptions implements Kernel.
func (c *Conn) WatchRouterOptions(ctx context.Context, said func(RouterOption)) error {
	err := netlinkgroup.Listener{
		// What is lost comes again: routers repeat their advertisements.
		Protocol: unix.NETLINK_ROUTE, Groups: []uint32{unix.RTNLGRP_ND_USEROPT},
		Message: func(b []byte) {
			for m := range netlinkgroup.Messages(b) {
				if m.Header.Type != unix.RTM_NEWNDUSEROPT {
					continue
				}

				for _, o := range parseRouterOptions(m.Data) {
					said(o)
				}
			}
		},
	}.Listen(ctx)
	if err != nil {
		return fmt.Errorf("netlink watch router options: %w", err)
	}

	return nil
}

// Sizes and types of neighbor discovery (struct nduseroptmsg; RFC 8106, 5).
const (
	routerOptionHeader = 16
	optionUnit         = 8
	optionRDNSS        = 25
	optionDNSSL        = 31
	maxRouterItems     = 64
	advertisement      = 134
)

// parseRouterOptions reads a kernel message with options from the network. It ignores options that are not valid.
func parseRouterOptions(data []byte) []RouterOption {
	if len(data) < routerOptionHeader || data[0] != unix.AF_INET6 || data[8] != advertisement {
		return nil
	}

	size := int(binary.NativeEndian.Uint16(data[2:4]))
	index := binary.NativeEndian.Uint32(data[4:8])
	options := data[routerOptionHeader:]

	if size > len(options) {
		return nil
	}

	var out []RouterOption

	for options = options[:size]; len(options) >= optionUnit; {
		length := int(options[1]) * optionUnit
		if length == 0 || length > len(options) {
			break
		}

		o := RouterOption{LinkIndex: index, Lifetime: time.Duration(binary.BigEndian.Uint32(options[4:8])) * time.Second}
		body := options[optionUnit:length]

		switch options[0] {
		case optionRDNSS:
			o.DNSServers = parseServers(body)
		case optionDNSSL:
			o.Search = parseDomains(body)
		}

		if len(o.DNSServers)+len(o.Search) > 0 {
			out = append(out, o)
		}

		options = options[length:]
	}

	return out
}

func parseServers(body []byte) []netip.Addr {
	var out []netip.Addr

	for ; len(body) >= 16 && len(out) < maxRouterItems; body = body[16:] {
		a := netip.AddrFrom16([16]byte(body[:16]))
		if !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && !a.Is4In6() {
			out = append(out, a)
		}
	}

	return out
}

// parseDomains reads names in DNS form without compression; the rest is filled with zeros.
func parseDomains(body []byte) []string {
	var (
		out    []string
		labels []string
	)

	for len(body) > 0 && len(out) < maxRouterItems {
		n := int(body[0])
		if n >= len(body) || n > 63 {
			break
		}

		if n == 0 {
			if name := strings.Join(labels, "."); dnsname.Valid(name) {
				out = append(out, name)
			}

			labels, body = nil, body[1:]

			continue
		}

		labels, body = append(labels, string(body[1:1+n])), body[1+n:]
	}

	return out
}
