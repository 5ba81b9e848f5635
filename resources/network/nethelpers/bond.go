// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// BondMode is how a bond spreads traffic.
type BondMode uint8

// The bond modes that are used here.
const (
	BondModeActiveBackup BondMode = 1
	BondMode8023AD       BondMode = 4
)

var bondModeNames = enum.Of[BondMode]("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb")

func (b BondMode) String() string                   { return bondModeNames.Text(b) }
func (b BondMode) MarshalText() ([]byte, error)     { return bondModeNames.Marshal(b) }
func (b *BondMode) UnmarshalText(text []byte) error { return bondModeNames.Parse("bond mode", text, b) }

// BondXmitHashPolicy is what a bond hashes to choose a slave.
type BondXmitHashPolicy uint8

var bondXmitHashPolicyNames = enum.Of[BondXmitHashPolicy]("layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac")

func (b BondXmitHashPolicy) String() string               { return bondXmitHashPolicyNames.Text(b) }
func (b BondXmitHashPolicy) MarshalText() ([]byte, error) { return bondXmitHashPolicyNames.Marshal(b) }
func (b *BondXmitHashPolicy) UnmarshalText(text []byte) error {
	return bondXmitHashPolicyNames.Parse("bond transmit hash policy", text, b)
}

// LACPRate is how often LACP packets are requested.
type LACPRate uint8

var lacpRateNames = enum.Of[LACPRate]("slow", "fast")

func (l LACPRate) String() string                   { return lacpRateNames.Text(l) }
func (l LACPRate) MarshalText() ([]byte, error)     { return lacpRateNames.Marshal(l) }
func (l *LACPRate) UnmarshalText(text []byte) error { return lacpRateNames.Parse("LACP rate", text, l) }

// ARPValidate is which slaves' ARP monitoring is validated.
type ARPValidate uint32

var arpValidateNames = enum.Of[ARPValidate]("none", "active", "backup", "all", "filter", "filter_active", "filter_backup")

func (a ARPValidate) String() string               { return arpValidateNames.Text(a) }
func (a ARPValidate) MarshalText() ([]byte, error) { return arpValidateNames.Marshal(a) }
func (a *ARPValidate) UnmarshalText(text []byte) error {
	return arpValidateNames.Parse("ARP validation", text, a)
}

// ARPAllTargets is how many ARP targets must answer.
type ARPAllTargets uint32

var arpAllTargetsNames = enum.Of[ARPAllTargets]("any", "all")

func (a ARPAllTargets) String() string               { return arpAllTargetsNames.Text(a) }
func (a ARPAllTargets) MarshalText() ([]byte, error) { return arpAllTargetsNames.Marshal(a) }
func (a *ARPAllTargets) UnmarshalText(text []byte) error {
	return arpAllTargetsNames.Parse("ARP targets rule", text, a)
}

// PrimaryReselect is when a bond goes back to its primary slave.
type PrimaryReselect uint8

var primaryReselectNames = enum.Of[PrimaryReselect]("always", "better", "failure")

func (p PrimaryReselect) String() string               { return primaryReselectNames.Text(p) }
func (p PrimaryReselect) MarshalText() ([]byte, error) { return primaryReselectNames.Marshal(p) }
func (p *PrimaryReselect) UnmarshalText(text []byte) error {
	return primaryReselectNames.Parse("primary reselection", text, p)
}

// FailOverMAC is what happens to the hardware address at a fail-over.
type FailOverMAC uint8

var failOverMACNames = enum.Of[FailOverMAC]("none", "active", "follow")

func (f FailOverMAC) String() string               { return failOverMACNames.Text(f) }
func (f FailOverMAC) MarshalText() ([]byte, error) { return failOverMACNames.Marshal(f) }
func (f *FailOverMAC) UnmarshalText(text []byte) error {
	return failOverMACNames.Parse("fail-over MAC policy", text, f)
}

// ADSelect is how a bond chooses among aggregators.
type ADSelect uint8

var adSelectNames = enum.Of[ADSelect]("stable", "bandwidth", "count")

func (a ADSelect) String() string               { return adSelectNames.Text(a) }
func (a ADSelect) MarshalText() ([]byte, error) { return adSelectNames.Marshal(a) }
func (a *ADSelect) UnmarshalText(text []byte) error {
	return adSelectNames.Parse("aggregator selection", text, a)
}

// ADLACPActive is whether LACP packets are sent without a request.
type ADLACPActive uint8

var adLACPActiveNames = enum.Of[ADLACPActive]("off", "on")

func (a ADLACPActive) String() string               { return adLACPActiveNames.Text(a) }
func (a ADLACPActive) MarshalText() ([]byte, error) { return adLACPActiveNames.Marshal(a) }
func (a *ADLACPActive) UnmarshalText(text []byte) error {
	return adLACPActiveNames.Parse("LACP activity", text, a)
}
