// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// BondConfig creates a bond: one link that sends over several. Numbers and names are those of the kernel
// (Documentation/networking/bonding.rst); what is not set has the kernel's default.
type BondConfig struct {
	document.Named `yaml:",inline"`
	// Hardware address of the bond; without one it is that of its first link.
	HardwareAddr value.HardwareAddr `yaml:"hardwareAddr,omitempty"`
	// The links of the bond, in their order. They have no addresses of their own.
	Links []value.LinkName `yaml:"links,omitempty"`
	// How the bond spreads traffic.
	BondMode BondMode `yaml:"bondMode,omitempty"`
	// How often the bond looks whether its links have a carrier, in milliseconds; 0 for never.
	MIIMon *uint32 `yaml:"miimon,omitempty"`
	// How long a link must have a carrier until it is used, in milliseconds.
	UpDelay *uint32 `yaml:"updelay,omitempty"`
	// How long a link must be without a carrier until it is not used, in milliseconds.
	DownDelay *uint32 `yaml:"downdelay,omitempty"`
	// Whether the driver says if there is a carrier, instead of the card's registers.
	UseCarrier *bool `yaml:"useCarrier,omitempty"`
	// What a packet's link is chosen by, in the modes balance-xor, 802.3ad and balance-tlb.
	XmitHashPolicy XmitHashPolicy `yaml:"xmitHashPolicy,omitempty"`
	// How often the bond looks for its targets by ARP, in milliseconds; 0 for never. It excludes miimon.
	ARPInterval *uint32 `yaml:"arpInterval,omitempty"`
	// The IPv4 addresses that the bond looks for by ARP: 16 at most.
	ARPIPTargets []netip.Addr `yaml:"arpIpTargets,omitempty"`
	// The IPv6 addresses that the bond looks for by neighbor solicitations: 16 at most.
	NSIP6Targets []netip.Addr `yaml:"nsIp6Targets,omitempty"`
	// Which links must receive ARP answers to count as alive.
	ARPValidate ARPValidate `yaml:"arpValidate,omitempty"`
	// Whether a link is alive when any target answers, or only when all do.
	ARPAllTargets ARPAllTargets `yaml:"arpAllTargets,omitempty"`
	// How often the peer is asked to send LACP packets: each 30 seconds or each second.
	LACPRate LACPRate `yaml:"lacpRate,omitempty"`
	// Which addresses the links of the mode active-backup have.
	FailOverMAC FailOverMAC `yaml:"failOverMac,omitempty"`
	// How the active aggregator is chosen in the mode 802.3ad.
	ADSelect ADSelect `yaml:"adSelect,omitempty"`
	// The system priority in the mode 802.3ad.
	ADActorSysPrio *uint16 `yaml:"adActorSysPrio,omitempty"`
	// The upper 10 bits of the port key in the mode 802.3ad.
	ADUserPortKey *uint16 `yaml:"adUserPortKey,omitempty"`
	// Whether LACP packets are sent without being asked for, in the mode 802.3ad.
	ADLACPActive ADLACPActive `yaml:"adLACPActive,omitempty"`
	// The link that is used whenever it can be, in the modes active-backup, balance-tlb and balance-alb.
	Primary value.LinkName `yaml:"primary,omitempty"`
	// When the primary link is used again after a failure.
	PrimaryReselect PrimaryReselect `yaml:"primaryReselect,omitempty"`
	// How many IGMP reports follow a change of the active link.
	ResendIGMP *uint32 `yaml:"resendIGMP,omitempty"`
	// How many links must be alive for the bond to have a carrier.
	MinLinks *uint32 `yaml:"minLinks,omitempty"`
	// How many seconds pass between learning packets to the switches.
	LPInterval *uint32 `yaml:"lpInterval,omitempty"`
	// How many packets go over a link before the next one, in the mode balance-rr; 0 for a random link.
	PacketsPerSlave *uint32 `yaml:"packetsPerSlave,omitempty"`
	// How many notifications follow a change of the active link, each over ARP and neighbor advertisements.
	NumPeerNotif *uint8 `yaml:"numPeerNotif,omitempty"`
	// How many milliseconds pass between these notifications.
	PeerNotifDelay *uint32 `yaml:"peerNotifDelay,omitempty"`
	// Whether the mode balance-tlb moves flows by the load of the links.
	TLBLogicalLB *uint8 `yaml:"tlbLogicalLb,omitempty"`
	// Whether frames that arrive at inactive links are kept.
	AllSlavesActive *uint8 `yaml:"allSlavesActive,omitempty"`
	// How many ARP intervals a link may be silent until it counts as dead.
	MissedMax *uint8 `yaml:"missedMax,omitempty"`

	LinkSettings `yaml:",inline"`
}

var bond = document.Of[BondConfig]("BondConfig", `apiVersion: v1alpha1
kind: BondConfig
name: bond0
links:
    - eth0
    - eth1
bondMode: 802.3ad
miimon: 100
xmitHashPolicy: layer3+4
lacpRate: fast
addresses:
    - address: 192.0.2.10/24
`)

// maxTargets is how many targets the kernel takes (BOND_MAX_ARP_TARGETS).
const maxTargets = 16

// Validate implements document.Validator.
func (b *BondConfig) Validate(r *document.Report) {
	b.validate(r, "")
	unique(r, "links", b.Links)

	if b.MIIMon != nil && *b.MIIMon > 0 && b.ARPInterval != nil && *b.ARPInterval > 0 {
		r.Wrong("arpInterval", "the bond watches its links by miimon or by ARP: set one of the two to 0")
	}

	if b.BondMode != BondMode8023AD && b.LACPRate != "" {
		r.Wrong("lacpRate", "is for the mode %s only", BondMode8023AD)
	}

	if b.Primary != "" && b.BondMode != BondModeActiveBackup && b.BondMode != BondModeTLB && b.BondMode != BondModeALB {
		r.Wrong("primary", "is for the modes %s, %s and %s only", BondModeActiveBackup, BondModeTLB, BondModeALB)
	}

	for _, targets := range []struct {
		key   string
		addrs []netip.Addr
		is6   bool
	}{{"arpIpTargets", b.ARPIPTargets, false}, {"nsIp6Targets", b.NSIP6Targets, true}} {
		if len(targets.addrs) > maxTargets {
			r.Wrong(targets.key, "has %d addresses, and the kernel takes %d", len(targets.addrs), maxTargets)
		}

		for i, addr := range targets.addrs {
			if addr.Is6() != targets.is6 {
				r.Wrong(fmt.Sprintf("%s[%d]", targets.key, i), "%s is not of the family of this list: IPv4 belongs in arpIpTargets, IPv6 in nsIp6Targets", addr)
			}
		}
	}
}

// unique reports links that are named twice.
func unique(r *document.Report, path string, links []value.LinkName) {
	seen := map[value.LinkName]bool{}

	for i, name := range links {
		if seen[name] {
			r.Wrong(fmt.Sprintf("%s[%d]", path, i), "%s is in the list twice", name)
		}

		seen[name] = true
	}
}
