// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
)

// PortName is the default of a gateway's name on the switch, and its name in DNS.
const PortName = "gateway"

// DefaultMAC is the default of a gateway's hardware address. Those of machines are in the same locally administered
// range.
var DefaultMAC = net.HardwareAddr{0x52, 0x54, 0x00, 0x00, 0x00, 0x01}

// Service is one of a gateway's services.
type Service string

// The services of a gateway. Port forwarding does not need them.
const (
	ServiceDHCP     Service = "dhcp"
	ServiceDHCPv6   Service = "dhcpv6"
	ServiceRA       Service = "ra"
	ServiceDNS      Service = "dns"
	ServiceNTP      Service = "ntp"
	ServiceMetadata Service = "metadata"
)

// Host is a machine's card on the gateway's network.
type Host struct {
	Name string
	MAC  net.HardwareAddr
	// Addr4 is the address that DHCP leases; none on a network without IPv4.
	Addr4 netip.Addr
	// Addr6 is the address that DHCPv6 leases. On a network with IPv6, its default is the one that the host gives
	// itself (see SLAAC).
	Addr6 netip.Addr
	// Delegated is the prefix that DHCPv6 delegates to the host, if any. The gateway routes it to the host.
	Delegated netip.Prefix
	// DUID identifies the host in DHCPv6 if its DUID does not contain MAC.
	DUID []byte
	// Instance is the host's data on the metadata server. Its name and cards are taken from this Host where they are
	// not set.
	Instance metadata.Instance
}

// Config describes a gateway.
type Config struct {
	// PortName is the name on the switch, by default PortName. MAC is the hardware address, by default
	// 52:54:00:00:00:01. Gateways on one switch need different ones.
	PortName string
	MAC      net.HardwareAddr
	// Subnet4 is the network's IPv4 subnet; Addr4 is the gateway's address in it. A network may have no IPv4.
	Subnet4 netip.Prefix
	Addr4   netip.Addr
	// Subnet6 is the network's IPv6 subnet, a /64 where hosts give themselves addresses; Addr6 is the gateway's address
	// in it, its first if not set. A network may have no IPv6. See DefaultSubnet6.
	Subnet6 netip.Prefix
	Addr6   netip.Addr
	// Router4 is the default router in DHCP, by default Addr4. A network behind a router of the lab uses the gateway
	// for its services only. The gateway's own traffic to Inside goes through Router4 and Router6 as well. Router6 is
	// link-local, or in Subnet6; RA.From announces it to hosts.
	Router4, Router6 netip.Addr
	// Inside are the lab's other networks. The gateway never connects to them from this computer.
	Inside []netip.Prefix
	// MTU of the network, 1500 if zero.
	MTU uint16
	// Domain is the lab's own zone: hosts resolve as NAME and NAME.DOMAIN.
	Domain string
	Hosts  []Host
	// Names are further names for DNS: the lab's hosts on other networks. A name that a host of this network has too
	// gets the addresses of both.
	Names map[string][]netip.Addr
	// LeaseTime of DHCP and DHCPv6, one hour if zero. Clients renew after half of it.
	LeaseTime time.Duration
	// Services are those that run; nil is all that the network's protocols allow, with a metadata server if Cloud or an
	// Instance.Platform is set.
	Services []Service
	// Cloud is the platform whose metadata server runs, one of metadata.Platforms. Instance.Platform of a host has
	// precedence.
	Cloud string
	// The behaviours of the services; see the setters of Gateway.
	DHCP     DHCPBehaviour
	DHCPv6   DHCPv6Behaviour
	RA       RouterAdvertisement
	DNS      DNSBehaviour
	NTP      NTPBehaviour
	Metadata MetadataBehaviour
	// Offline gateways have no connection to the world.
	Offline bool
	// Resolvers, as "address:port", resolve names that are not the lab's, unless Offline.
	Resolvers []string
	Log       *slog.Logger
}
