// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "net/netip"

// NetworkConfig describes the machine's network.
type NetworkConfig struct {
	// The name of the machine, with or without a domain.
	Hostname string `yaml:"hostname,omitempty" replaced:"1.12"`
	// The links of the machine.
	Interfaces []Device `yaml:"interfaces,omitempty" merge:"key=interface,deviceSelector"`
	// The DNS servers, in their order. Without any they come from DHCP or the platform.
	NameServers []netip.Addr `yaml:"nameservers,omitempty"`
	// Domains that are tried for names without a dot.
	SearchDomains []string `yaml:"searchDomains,omitempty"`
	// More lines of /etc/hosts.
	ExtraHostEntries []ExtraHost `yaml:"extraHostEntries,omitempty"`
	// The encrypted network between the machines of the cluster.
	KubeSpan KubeSpanConfig `yaml:"kubespan,omitempty"`
	// Whether the domain of the hostname is not tried.
	DisableSearchDomain *bool `yaml:"disableSearchDomain,omitempty"`
}

// ExtraHost is a line of /etc/hosts.
type ExtraHost struct {
	// The address.
	IP netip.Addr `yaml:"ip"`
	// The names of the address.
	Aliases []string `yaml:"aliases"`
}

// KubeSpanConfig describes the WireGuard mesh between the machines of a cluster.
type KubeSpanConfig struct {
	// Whether the machine is part of the network.
	Enabled *bool `yaml:"enabled,omitempty" protects:"true"`
	// Whether the networks of the machine's pods go through it.
	AdvertiseKubernetesNetworks *bool `yaml:"advertiseKubernetesNetworks,omitempty"`
	// Whether traffic to a machine that cannot be reached through it takes the usual way, unencrypted.
	AllowDownPeerBypass *bool `yaml:"allowDownPeerBypass,omitempty"`
	// Whether addresses that machines are seen with are told to the others.
	HarvestExtraEndpoints *bool `yaml:"harvestExtraEndpoints,omitempty"`
	// The largest packet, in bytes; 1420 without it.
	MTU *uint32 `yaml:"mtu,omitempty"`
	// What the machine tells of itself.
	Filters KubeSpanFilters `yaml:"filters,omitempty"`
}

// KubeSpanFilters limit the endpoints and networks that a machine advertises to its peers.
type KubeSpanFilters struct {
	// Networks of the machine's addresses that it tells others; with ! in front those that it does not.
	Endpoints []string `yaml:"endpoints,omitempty"`
	// Networks that it does not tell, though it has them.
	ExcludeAdvertisedNetworks []string `yaml:"excludeAdvertisedNetworks,omitempty"`
}

// Device is the configuration of one link, selected by name or by its properties. Addresses are prefixes; an
// address without a length is a host prefix.
type Device struct {
	// The name of the link.
	Interface string `yaml:"interface,omitempty"`
	// What selects the link, instead of interface.
	Selector *DeviceSelector `yaml:"deviceSelector,omitempty"`
	// The addresses with their prefixes.
	Addresses []string `yaml:"addresses,omitempty"`
	// The routes through the link.
	Routes []Route `yaml:"routes,omitempty"`
	// Makes the link a bond.
	Bond *Bond `yaml:"bond,omitempty"`
	// Makes the link a bridge.
	Bridge *Bridge `yaml:"bridge,omitempty"`
	// Makes the link a port of a bridge.
	BridgePort *BridgePort `yaml:"bridgePort,omitempty"`
	// VLANs on the link.
	VLANs []VLAN `yaml:"vlans,omitempty" merge:"key=vlanId"`
	// The largest packet, in bytes; what the kernel chooses without it.
	MTU uint32 `yaml:"mtu,omitempty"`
	// Whether the link gets addresses by DHCP.
	DHCP *bool `yaml:"dhcp,omitempty"`
	// Whether the link is left as it is.
	Ignore *bool `yaml:"ignore,omitempty"`
	// Whether the link is a dummy, which drops all packets.
	Dummy *bool `yaml:"dummy,omitempty"`
	// Settings of DHCP.
	DHCPOptions *DHCPOptions `yaml:"dhcpOptions,omitempty"`
	// Makes the link a WireGuard tunnel.
	WireGuard *WireGuard `yaml:"wireguard,omitempty"`
	// An address that one control plane machine at a time has.
	VIP *VIP `yaml:"vip,omitempty"`
}

// DeviceSelector selects a link by its properties. All that are set must match; "*" matches any text.
type DeviceSelector struct {
	// The path of the card's bus.
	BusPath string `yaml:"busPath,omitempty"`
	// The hardware address that the link has now.
	HardwareAddr string `yaml:"hardwareAddr,omitempty"`
	// The hardware address that the card was made with.
	PermanentAddr string `yaml:"permanentAddr,omitempty"`
	// Vendor and product of the card, in hexadecimal: 8086:1533.
	PCIID string `yaml:"pciID,omitempty"`
	// The driver of the card.
	Driver string `yaml:"driver,omitempty"`
	// Whether the link is a physical one.
	Physical *bool `yaml:"physical,omitempty"`
}

// Route is a static route. An empty Network means the default route of Gateway's family. The addresses have no
// omitempty, because the YAML library would omit all netip values: an absent address is written as "".
type Route struct {
	// The destination; the default route without it.
	Network netip.Prefix `yaml:"network"`
	// The address of the gateway; a destination on the link itself without it.
	Gateway netip.Addr `yaml:"gateway"`
	// The source address of packets.
	Source netip.Addr `yaml:"source"`
	// The metric: the kernel takes the route with the least.
	Metric uint32 `yaml:"metric,omitempty"`
	// The largest packet on this route, in bytes.
	MTU uint32 `yaml:"mtu,omitempty"`
}

// Bridge joins links.
type Bridge struct {
	// The links that the bridge joins.
	Interfaces []string `yaml:"interfaces,omitempty"`
	// The spanning tree protocol.
	STP *BridgeSTP `yaml:"stp,omitempty"`
	// VLAN filtering.
	VLAN *BridgeVLAN `yaml:"vlan,omitempty"`
}

// BridgeSTP turns the spanning tree protocol on or off.
type BridgeSTP struct {
	// Whether it is on.
	Enabled *bool `yaml:"enabled,omitempty"`
}

// BridgeVLAN turns VLAN filtering on or off.
type BridgeVLAN struct {
	// Whether it is on.
	Filtering *bool `yaml:"vlanFiltering,omitempty"`
}

// BridgePort makes the link a port of a bridge.
type BridgePort struct {
	// The name of the bridge.
	Master string `yaml:"master,omitempty"`
}

// VLAN is a tagged link on top of its device.
type VLAN struct {
	// The addresses with their prefixes.
	Addresses []string `yaml:"addresses,omitempty"`
	// The routes through the VLAN.
	Routes []Route `yaml:"routes,omitempty"`
	// Whether the VLAN gets addresses by DHCP.
	DHCP *bool `yaml:"dhcp,omitempty"`
	// The number of the VLAN.
	ID uint16 `yaml:"vlanId,omitempty"`
	// The largest packet, in bytes; that of the link below without it.
	MTU uint32 `yaml:"mtu,omitempty"`
	// An address that one control plane machine at a time has.
	VIP *VIP `yaml:"vip,omitempty"`
	// Settings of DHCP.
	DHCPOptions *DHCPOptions `yaml:"dhcpOptions,omitempty"`
}

// DHCPOptions configure the DHCP clients of a link.
type DHCPOptions struct {
	// The metric of the routes that DHCP gives; 1024 without it.
	RouteMetric uint32 `yaml:"routeMetric,omitempty"`
	// Whether there is DHCP for IPv4; there is without this key.
	IPv4 *bool `yaml:"ipv4,omitempty"`
	// Whether there is DHCP for IPv6; there is not without this key.
	IPv6 *bool `yaml:"ipv6,omitempty"`
	// The identity of the machine for DHCP of IPv6, in hexadecimal.
	DUIDv6 string `yaml:"duidv6,omitempty"`
}

// WireGuard makes the device a WireGuard link.
type WireGuard struct {
	// The private key, in base64.
	PrivateKey string `yaml:"privateKey,omitempty"`
	// The UDP port that it listens on; a free one without it.
	ListenPort uint16 `yaml:"listenPort,omitempty"`
	// The mark of its packets.
	FirewallMark uint32 `yaml:"firewallMark,omitempty"`
	// The peers.
	Peers []WireGuardPeer `yaml:"peers,omitempty"`
}

// VIP is an address that one control plane machine at a time has.
type VIP struct {
	// The address.
	IP string `yaml:"ip,omitempty"`
	// Moves the address through the API of Equinix Metal.
	EquinixMetal *VIPProvider `yaml:"equinixMetal,omitempty"`
	// Moves the address through the API of Hetzner Cloud.
	HCloud *VIPProvider `yaml:"hcloud,omitempty"`
}

// VIPProvider moves a VIP through the API of a cloud.
type VIPProvider struct {
	// The token for the API.
	APIToken string `yaml:"apiToken"`
}
