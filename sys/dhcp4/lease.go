// SPDX-License-Identifier: Apache-2.0

package dhcp4

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dnsname"
)

// Lease is what a server granted.
type Lease struct {
	// Address is the leased address with the length of its network.
	Address netip.Prefix
	// Server is the address of the server that granted it.
	Server netip.Addr
	// Routes are the classless static routes if the server sends any (RFC 3442), else a default route for each router. An invalid
	// gateway means that the destination is on the link.
	Routes []Route
	DNS    []netip.Addr
	NTP    []netip.Addr
	// Hostname is a name of the machine, possibly with a domain; Domain is that of the network.
	Hostname, Domain string
	Search           []string
	// MTU is 0 if the server sends none.
	MTU uint32
	// Renew, Rebind and Expire count from when the lease was granted. An infinite lease has zeros.
	Renew, Rebind, Expire time.Duration
}

// Lives returns when the lease is renewed, is rebound and ends.
func (l *Lease) Lives() dhcp.Times {
	return dhcp.Times{Renew: l.Renew, Rebind: l.Rebind, Expire: l.Expire}
}

// Attrs implements dhcp.Lease.
func (l *Lease) Attrs() []any { return []any{"address", l.Address.String(), "server", l.Server} }

// Route of a lease.
type Route struct {
	Destination netip.Prefix
	Gateway     netip.Addr
}

// Limits for what a server may send.
const (
	infinite     = 1<<32 - 1
	shortest     = time.Second
	minMTU       = 576 // RFC 2132, 5.1 allows 68, but IPv4 hosts must accept 576
	maxListItems = 64
)

// FromACK returns the lease in a server's answer. It ignores options that are not valid, because a machine with an address is better
// than one without. An answer without an address or a lease time is an error.
func FromACK(ack *dhcpv4.DHCPv4) (*Lease, error) {
	own := toAddr(ack.YourIPAddr)
	if !usable(own) {
		return nil, fmt.Errorf("DHCP answer: %v is not a valid address for a machine", ack.YourIPAddr)
	}

	l := &Lease{Address: netip.PrefixFrom(own, prefixLength(ack, own)), Server: toAddr(ack.ServerIdentifier())}

	if err := l.setTimes(ack); err != nil {
		return nil, err
	}

	l.setRoutes(ack)

	l.DNS, l.NTP = toAddrs(ack.DNS()), toAddrs(ack.NTPServers())

	if name := dnsname.Trim(ack.HostName()); dnsname.Valid(name) {
		l.Hostname = name
	}

	if name := dnsname.Trim(ack.DomainName()); dnsname.Valid(name) {
		l.Domain = name
	}

	if labels := ack.DomainSearch(); labels != nil {
		for _, name := range labels.Labels {
			if name = dnsname.Trim(name); dnsname.Valid(name) && len(l.Search) < maxListItems {
				l.Search = append(l.Search, name)
			}
		}
	}

	if mtu, err := dhcpv4.GetUint16(dhcpv4.OptionInterfaceMTU, ack.Options); err == nil && mtu >= minMTU {
		l.MTU = uint32(mtu)
	}

	return l, nil
}

// setTimes sets T1, T2 and the end; T1 or T2 that are missing or out of order get their default part of the lease time.
func (l *Lease) setTimes(ack *dhcpv4.DHCPv4) error {
	seconds := ack.Options.Get(dhcpv4.OptionIPAddressLeaseTime)
	if len(seconds) != 4 {
		return errors.New("DHCP answer: no lease time")
	}

	whole := ack.IPAddressLeaseTime(0)
	if whole == infinite*time.Second {
		return nil
	}

	l.Expire = max(whole, shortest)
	l.Rebind = ack.IPAddressRebindingTime(0)
	l.Renew = ack.IPAddressRenewalTime(0)

	if l.Rebind <= 0 || l.Rebind >= l.Expire {
		l.Rebind = l.Expire - l.Expire/8
	}

	if l.Renew <= 0 || l.Renew >= l.Rebind {
		l.Renew = min(l.Expire/2, l.Rebind/7*4)
	}

	return nil
}

func (l *Lease) setRoutes(ack *dhcpv4.DHCPv4) {
	for _, r := range ack.ClasslessStaticRoute() {
		ones, _ := r.Dest.Mask.Size()
		dst := netip.PrefixFrom(toAddr(r.Dest.IP), ones)
		gateway := toAddr(r.Router)

		if !dst.IsValid() || len(l.Routes) == maxListItems {
			continue
		}

		if gateway.IsUnspecified() {
			gateway = netip.Addr{}
		}

		l.Routes = append(l.Routes, Route{Destination: dst.Masked(), Gateway: gateway})
	}

	if len(l.Routes) > 0 {
		return
	}

	for _, router := range toAddrs(ack.Router()) {
		l.Routes = append(l.Routes, Route{Destination: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Gateway: router})
	}
}

// prefixLength returns the length of the subnet mask, or that of the address's class if the mask is not valid.
func prefixLength(ack *dhcpv4.DHCPv4, own netip.Addr) int {
	if mask := ack.SubnetMask(); mask != nil {
		if ones, bits := mask.Size(); bits == 32 && ones > 0 {
			return ones
		}
	}

	ones, _ := net.IP(own.AsSlice()).DefaultMask().Size()

	return ones
}

func toAddr(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip.To4())
	if !ok {
		return netip.Addr{}
	}

	return a
}

func toAddrs(ips []net.IP) []netip.Addr {
	var out []netip.Addr

	for _, ip := range ips {
		if a := toAddr(ip); usable(a) && len(out) < maxListItems {
			out = append(out, a)
		}
	}

	return out
}

// usable reports whether a machine can have the address.
func usable(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}
