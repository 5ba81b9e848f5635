// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "net/netip"

// NetworkConfig describes the machine's network.
type NetworkConfig struct {
	Hostname            string         `yaml:"hostname,omitempty"`
	Interfaces          []Device       `yaml:"interfaces,omitempty" merge:"key=interface,deviceSelector"`
	NameServers         []netip.Addr   `yaml:"nameservers,omitempty"`
	SearchDomains       []string       `yaml:"searchDomains,omitempty"`
	ExtraHostEntries    []ExtraHost    `yaml:"extraHostEntries,omitempty"`
	KubeSpan            KubeSpanConfig `yaml:"kubespan,omitempty"`
	DisableSearchDomain *bool          `yaml:"disableSearchDomain,omitempty"`
}

// ExtraHost is a line of /etc/hosts.
type ExtraHost struct {
	IP      netip.Addr `yaml:"ip"`
	Aliases []string   `yaml:"aliases"`
}

// KubeSpanConfig describes the WireGuard mesh between the machines of a cluster.
type KubeSpanConfig struct {
	Enabled                     *bool           `yaml:"enabled,omitempty"`
	AdvertiseKubernetesNetworks *bool           `yaml:"advertiseKubernetesNetworks,omitempty"`
	AllowDownPeerBypass         *bool           `yaml:"allowDownPeerBypass,omitempty"`
	HarvestExtraEndpoints       *bool           `yaml:"harvestExtraEndpoints,omitempty"`
	MTU                         *uint32         `yaml:"mtu,omitempty"`
	Filters                     KubeSpanFilters `yaml:"filters,omitempty"`
}

// KubeSpanFilters limit the endpoints and networks that a machine advertises to its peers.
type KubeSpanFilters struct {
	Endpoints                 []string `yaml:"endpoints,omitempty"`
	ExcludeAdvertisedNetworks []string `yaml:"excludeAdvertisedNetworks,omitempty"`
}

// Device is the configuration of one link, selected by name or by its properties. Addresses are prefixes; an
// address without a length is a host prefix.
type Device struct {
	Interface   string          `yaml:"interface,omitempty"`
	Selector    *DeviceSelector `yaml:"deviceSelector,omitempty"`
	Addresses   []string        `yaml:"addresses,omitempty"`
	Routes      []Route         `yaml:"routes,omitempty"`
	Bond        *Bond           `yaml:"bond,omitempty"`
	Bridge      *Bridge         `yaml:"bridge,omitempty"`
	BridgePort  *BridgePort     `yaml:"bridgePort,omitempty"`
	VLANs       []VLAN          `yaml:"vlans,omitempty" merge:"key=vlanId"`
	MTU         uint32          `yaml:"mtu,omitempty"`
	DHCP        *bool           `yaml:"dhcp,omitempty"`
	Ignore      *bool           `yaml:"ignore,omitempty"`
	Dummy       *bool           `yaml:"dummy,omitempty"`
	DHCPOptions *DHCPOptions    `yaml:"dhcpOptions,omitempty"`
	WireGuard   *WireGuard      `yaml:"wireguard,omitempty"`
	VIP         *VIP            `yaml:"vip,omitempty"`
}

// DeviceSelector selects a link by its properties. All that are set must match; "*" matches any text.
type DeviceSelector struct {
	BusPath       string `yaml:"busPath,omitempty"`
	HardwareAddr  string `yaml:"hardwareAddr,omitempty"`
	PermanentAddr string `yaml:"permanentAddr,omitempty"`
	PCIID         string `yaml:"pciID,omitempty"`
	Driver        string `yaml:"driver,omitempty"`
	Physical      *bool  `yaml:"physical,omitempty"`
}

// Route is a static route. An empty Network means the default route of Gateway's family. The addresses have no
// omitempty, because the YAML library would omit all netip values: an absent address is written as "".
type Route struct {
	Network netip.Prefix `yaml:"network"`
	Gateway netip.Addr   `yaml:"gateway"`
	Source  netip.Addr   `yaml:"source"`
	Metric  uint32       `yaml:"metric,omitempty"`
	MTU     uint32       `yaml:"mtu,omitempty"`
}

// Bridge joins links.
type Bridge struct {
	Interfaces []string    `yaml:"interfaces,omitempty"`
	STP        *BridgeSTP  `yaml:"stp,omitempty"`
	VLAN       *BridgeVLAN `yaml:"vlan,omitempty"`
}

// BridgeSTP turns the spanning tree protocol on or off.
type BridgeSTP struct {
	Enabled *bool `yaml:"enabled,omitempty"`
}

// BridgeVLAN turns VLAN filtering on or off.
type BridgeVLAN struct {
	Filtering *bool `yaml:"vlanFiltering,omitempty"`
}

// BridgePort makes the link a port of a bridge.
type BridgePort struct {
	Master string `yaml:"master,omitempty"`
}

// VLAN is a tagged link on top of its device.
type VLAN struct {
	Addresses   []string     `yaml:"addresses,omitempty"`
	Routes      []Route      `yaml:"routes,omitempty"`
	DHCP        *bool        `yaml:"dhcp,omitempty"`
	ID          uint16       `yaml:"vlanId,omitempty"`
	MTU         uint32       `yaml:"mtu,omitempty"`
	VIP         *VIP         `yaml:"vip,omitempty"`
	DHCPOptions *DHCPOptions `yaml:"dhcpOptions,omitempty"`
}

// DHCPOptions configure the DHCP clients of a link.
type DHCPOptions struct {
	RouteMetric uint32 `yaml:"routeMetric,omitempty"`
	IPv4        *bool  `yaml:"ipv4,omitempty"`
	IPv6        *bool  `yaml:"ipv6,omitempty"`
	DUIDv6      string `yaml:"duidv6,omitempty"`
}

// WireGuard makes the device a WireGuard link.
type WireGuard struct {
	PrivateKey   string          `yaml:"privateKey,omitempty"`
	ListenPort   uint16          `yaml:"listenPort,omitempty"`
	FirewallMark uint32          `yaml:"firewallMark,omitempty"`
	Peers        []WireGuardPeer `yaml:"peers,omitempty"`
}

// VIP is an address that one control plane machine at a time has.
type VIP struct {
	IP           string       `yaml:"ip,omitempty"`
	EquinixMetal *VIPProvider `yaml:"equinixMetal,omitempty"`
	HCloud       *VIPProvider `yaml:"hcloud,omitempty"`
}

// VIPProvider moves a VIP through the API of a cloud.
type VIPProvider struct {
	APIToken string `yaml:"apiToken"`
}
