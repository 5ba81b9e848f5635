// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// Bond describes a bond with the kernel's names and values. A number is a pointer if the kernel's default is not 0.
type Bond struct {
	// The links that the bond joins, by name.
	Interfaces []string `yaml:"interfaces,omitempty"`
	// The links that the bond joins, by their properties.
	DeviceSelectors []DeviceSelector `yaml:"deviceSelectors,omitempty"`
	// The addresses that ARP requests are sent to, to see whether a link works.
	ARPIPTarget []string `yaml:"arpIPTarget,omitempty"`
	// How packets are spread over the links: balance-rr, active-backup, balance-xor, broadcast, 802.3ad, balance-tlb or balance-alb.
	Mode string `yaml:"mode,omitempty"`
	// What chooses the link of a packet: layer2, layer3+4, layer2+3, encap2+3, encap3+4 or vlan+srcmac.
	XmitHashPolicy string `yaml:"xmitHashPolicy,omitempty"`
	// How often the other end sends LACP packets: slow (30 s) or fast (1 s).
	LACPRate string `yaml:"lacpRate,omitempty"`
	// The hardware address of the system in LACP packets.
	ADActorSystem string `yaml:"adActorSystem,omitempty"`
	// Which ARP replies count: none, active, backup, all, filter, filter-active or filter-backup.
	ARPValidate string `yaml:"arpValidate,omitempty"`
	// Whether any or all of the ARP targets must reply.
	ARPAllTargets string `yaml:"arpAllTargets,omitempty"`
	// The link that is used while it works.
	Primary string `yaml:"primary,omitempty"`
	// When the primary link is used again after a failure: always, better or failure.
	PrimaryReselect string `yaml:"primaryReselect,omitempty"`
	// Whose hardware address the bond has in the mode active-backup: none, active or follow.
	FailOverMAC string `yaml:"failOverMac,omitempty"`
	// Which group of links LACP uses: stable, bandwidth or count.
	ADSelect string `yaml:"adSelect,omitempty"`
	// How often the carrier of the links is checked, in milliseconds.
	MIIMon *uint32 `yaml:"miimon,omitempty"`
	// How long a link must work before it is used, in milliseconds.
	UpDelay uint32 `yaml:"updelay,omitempty"`
	// How long a link must fail before it is no longer used, in milliseconds.
	DownDelay uint32 `yaml:"downdelay,omitempty"`
	// How often ARP requests are sent, in milliseconds; never with 0.
	ARPInterval uint32 `yaml:"arpInterval,omitempty"`
	// How many IGMP reports are sent after another link takes over.
	ResendIGMP *uint32 `yaml:"resendIgmp,omitempty"`
	// How many links must work for the bond to have a carrier.
	MinLinks uint32 `yaml:"minLinks,omitempty"`
	// How often learning packets are sent to the switches, in seconds.
	LPInterval *uint32 `yaml:"lpInterval,omitempty"`
	// How many packets a link sends before the next one does, in the mode balance-rr.
	PacketsPerSlave *uint32 `yaml:"packetsPerSlave,omitempty"`
	// How many ARP and neighbor advertisements are sent after another link takes over.
	NumPeerNotif *uint8 `yaml:"numPeerNotif,omitempty"`
	// Whether the mode balance-tlb spreads packets by the load of the links (1) or by their hash (0).
	TLBDynamicLB *uint8 `yaml:"tlbDynamicLb,omitempty"`
	// Whether packets that arrive on links that are not in use are delivered (1) or dropped (0).
	AllSlavesActive uint8 `yaml:"allSlavesActive,omitempty"`
	// Whether the driver's carrier says that a link works, instead of ethtool requests.
	UseCarrier *bool `yaml:"useCarrier,omitempty"`
	// The priority of the system in LACP packets.
	ADActorSysPrio *uint16 `yaml:"adActorSysPrio,omitempty"`
	// The part of the LACP port key that the administrator chooses.
	ADUserPortKey uint16 `yaml:"adUserPortKey,omitempty"`
	// How much time passes between notifications of the peers, in milliseconds.
	PeerNotifyDelay uint32 `yaml:"peerNotifyDelay,omitempty"`
}

// WireGuardPeer is one peer of a WireGuard link.
type WireGuardPeer struct {
	// The public key of the peer, in base64.
	PublicKey string `yaml:"publicKey,omitempty"`
	// The address and port of the peer; without it the peer connects first.
	Endpoint string `yaml:"endpoint,omitempty"`
	// How often a packet is sent to keep the connection open; never without it.
	PersistentKeepalive time.Duration `yaml:"persistentKeepaliveInterval,omitempty"`
	// The networks that are reached through the peer.
	AllowedIPs []string `yaml:"allowedIPs,omitempty"`
}
