// SPDX-License-Identifier: Apache-2.0

package dhcp6

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"

	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dnsname"
)

// Lease is what a server granted.
type Lease struct {
	// Addresses have no prefix length: routers advertise the prefixes on the link. A stateless lease has none.
	Addresses []netip.Addr
	DNS       []netip.Addr
	NTP       []netip.Addr
	Search    []string
	// Hostname is a name of the machine, possibly with a domain.
	Hostname string
	// Renew, Rebind and Expire count from when the lease was granted; for a stateless lease they are when to ask again. An infinite
	// lease has zeros.
	Renew, Rebind, Expire time.Duration

	// server granted it; nil for a stateless lease.
	server dhcpv6.DUID
}

// Limits for what a server may send.
const (
	infinite     = math.MaxUint32 * time.Second
	shortest     = time.Second
	maxListItems = 64
	// The refresh time of a stateless lease (RFC 8415, 21.23).
	leastRefresh, usualRefresh = 10 * time.Minute, 24 * time.Hour
)

// Lives returns when the lease is renewed, is rebound and ends.
func (l *Lease) Lives() dhcp.Times {
	return dhcp.Times{Renew: l.Renew, Rebind: l.Rebind, Expire: l.Expire}
}

// Attrs implements dhcp.Lease.
func (l *Lease) Attrs() []any { return []any{"addresses", fmt.Sprint(l.Addresses)} }

// FromReply returns the lease in a server's reply. It ignores options that are not valid. A stateful reply without an address is an
// error: ErrRefused if the server says so.
func FromReply(m *dhcpv6.Message, stateless bool) (*Lease, error) {
	if m.MessageType != dhcpv6.MessageTypeReply {
		return nil, fmt.Errorf("DHCPv6 answer: got %s, want a reply", m.MessageType)
	}

	if err := statusOf(m.Options.Status()); err != nil {
		return nil, err
	}

	l := &Lease{DNS: toAddrs(m.Options.DNS()), NTP: toAddrs(m.Options.NTPServers())}
	if len(l.NTP) == 0 {
		l.NTP = toAddrs(m.Options.SNTP())
	}

	if labels := m.Options.DomainSearchList(); labels != nil {
		for _, name := range labels.Labels {
			if name = dnsname.Trim(name); dnsname.Valid(name) && len(l.Search) < maxListItems {
				l.Search = append(l.Search, name)
			}
		}
	}

	if fqdn := m.Options.FQDN(); fqdn != nil && fqdn.DomainName != nil && len(fqdn.DomainName.Labels) > 0 {
		if name := dnsname.Trim(fqdn.DomainName.Labels[0]); dnsname.Valid(name) {
			l.Hostname = name
		}
	}

	if stateless {
		l.Expire = max(m.Options.InformationRefreshTime(usualRefresh), leastRefresh)
		l.Renew, l.Rebind = l.Expire, l.Expire

		return l, nil
	}

	l.server = m.Options.ServerID()

	return l, l.setAddresses(m)
}

// setAddresses reads the addresses and their times: the lease ends when the first address does.
func (l *Lease) setAddresses(m *dhcpv6.Message) error {
	preferred := infinite
	l.Expire = infinite

	for _, ia := range m.Options.IANA() {
		if err := statusOf(ia.Options.Status()); err != nil {
			return err
		}

		for _, o := range ia.Options.Addresses() {
			a, ok := netip.AddrFromSlice(o.IPv6Addr.To16())
			if !ok || !usable(a) || o.ValidLifetime <= 0 || len(l.Addresses) == maxListItems || slices.Contains(l.Addresses, a) {
				continue
			}

			l.Addresses = append(l.Addresses, a)
			l.Expire = min(l.Expire, max(o.ValidLifetime, shortest))
			preferred = min(preferred, o.PreferredLifetime)
			l.Renew, l.Rebind = ia.T1, ia.T2
		}
	}

	if len(l.Addresses) == 0 {
		return errors.New("DHCPv6 answer: no address")
	}

	if l.Expire == infinite {
		l.Renew, l.Rebind, l.Expire = 0, 0, 0

		return nil
	}

	// The server may leave T1 and T2 to the client (RFC 8415, 21.4), and they must be in order.
	if preferred <= 0 || preferred > l.Expire {
		preferred = l.Expire
	}

	if l.Rebind <= 0 || l.Rebind >= l.Expire {
		l.Rebind = preferred / 5 * 4 // divide first: a century of nanoseconds is near the largest number
	}

	if l.Renew <= 0 || l.Renew >= l.Rebind {
		l.Renew = l.Rebind / 8 * 5
	}

	return nil
}

func statusOf(s *dhcpv6.OptStatusCode) error {
	switch {
	case s == nil || s.StatusCode == iana.StatusSuccess:
		return nil
	case s.StatusCode == iana.StatusNoBinding || s.StatusCode == iana.StatusNotOnLink:
		return fmt.Errorf("%w: %s", ErrRefused, s.StatusCode)
	default:
		return fmt.Errorf("DHCPv6 answer: %s", s.StatusCode)
	}
}

func toAddrs(ips []net.IP) []netip.Addr {
	var out []netip.Addr

	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok && usable(a) && len(out) < maxListItems {
			out = append(out, a)
		}
	}

	return out
}

// usable reports whether a machine can have the address and others can reach it.
func usable(a netip.Addr) bool {
	return a.Is6() && !a.Is4In6() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}
