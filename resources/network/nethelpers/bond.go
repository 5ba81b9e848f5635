// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// BondMode is how a bond spreads traffic.
type BondMode uint8

// The bond modes.
const (
	BondModeRoundRobin   BondMode = 0
	BondModeActiveBackup BondMode = 1
	BondModeXOR          BondMode = 2
	BondModeBroadcast    BondMode = 3
	BondMode8023AD       BondMode = 4
	BondModeTLB          BondMode = 5
	BondModeALB          BondMode = 6
)

var bondModeNames = enum.Names[BondMode]{
	BondModeRoundRobin:   "balance-rr",
	BondModeActiveBackup: "active-backup",
	BondModeXOR:          "balance-xor",
	BondModeBroadcast:    "broadcast",
	BondMode8023AD:       "802.3ad",
	BondModeTLB:          "balance-tlb",
	BondModeALB:          "balance-alb",
}

func (b BondMode) String() string                   { return bondModeNames.Text(b) }
func (b BondMode) MarshalText() ([]byte, error)     { return bondModeNames.Marshal(b) }
func (b *BondMode) UnmarshalText(text []byte) error { return bondModeNames.Parse("bond mode", text, b) }

// BondXmitHashPolicy is what a bond hashes to choose a slave.
type BondXmitHashPolicy uint8

// The bond transmit hash policies.
const (
	BondXmitPolicyLayer2  BondXmitHashPolicy = 0
	BondXmitPolicyLayer34 BondXmitHashPolicy = 1
	BondXmitPolicyLayer23 BondXmitHashPolicy = 2
	BondXmitPolicyEncap23 BondXmitHashPolicy = 3
	BondXmitPolicyEncap34 BondXmitHashPolicy = 4
	BondXmitPolicyVLANMAC BondXmitHashPolicy = 5
)

var bondXmitHashPolicyNames = enum.Names[BondXmitHashPolicy]{
	BondXmitPolicyLayer2:  "layer2",
	BondXmitPolicyLayer34: "layer3+4",
	BondXmitPolicyLayer23: "layer2+3",
	BondXmitPolicyEncap23: "encap2+3",
	BondXmitPolicyEncap34: "encap3+4",
	BondXmitPolicyVLANMAC: "vlan+srcmac",
}

func (b BondXmitHashPolicy) String() string               { return bondXmitHashPolicyNames.Text(b) }
func (b BondXmitHashPolicy) MarshalText() ([]byte, error) { return bondXmitHashPolicyNames.Marshal(b) }
func (b *BondXmitHashPolicy) UnmarshalText(text []byte) error {
	return bondXmitHashPolicyNames.Parse("bond transmit hash policy", text, b)
}

// LACPRate is how often LACP packets are asked for.
type LACPRate uint8

// The LACP rates.
const (
	LACPRateSlow LACPRate = 0
	LACPRateFast LACPRate = 1
)

var lacpRateNames = enum.Names[LACPRate]{
	LACPRateSlow: "slow",
	LACPRateFast: "fast",
}

func (l LACPRate) String() string                   { return lacpRateNames.Text(l) }
func (l LACPRate) MarshalText() ([]byte, error)     { return lacpRateNames.Marshal(l) }
func (l *LACPRate) UnmarshalText(text []byte) error { return lacpRateNames.Parse("LACP rate", text, l) }

// ARPValidate is which slaves' ARP monitoring is validated.
type ARPValidate uint32

// The ARP validations.
const (
	ARPValidateNone         ARPValidate = 0
	ARPValidateActive       ARPValidate = 1
	ARPValidateBackup       ARPValidate = 2
	ARPValidateAll          ARPValidate = 3
	ARPValidateFilter       ARPValidate = 4
	ARPValidateFilterActive ARPValidate = 5
	ARPValidateFilterBackup ARPValidate = 6
)

var arpValidateNames = enum.Names[ARPValidate]{
	ARPValidateNone:         "none",
	ARPValidateActive:       "active",
	ARPValidateBackup:       "backup",
	ARPValidateAll:          "all",
	ARPValidateFilter:       "filter",
	ARPValidateFilterActive: "filter_active",
	ARPValidateFilterBackup: "filter_backup",
}

func (a ARPValidate) String() string               { return arpValidateNames.Text(a) }
func (a ARPValidate) MarshalText() ([]byte, error) { return arpValidateNames.Marshal(a) }
func (a *ARPValidate) UnmarshalText(text []byte) error {
	return arpValidateNames.Parse("ARP validation", text, a)
}

// ARPAllTargets tells how many ARP targets must answer.
type ARPAllTargets uint32

// The ARP targets rules.
const (
	ARPAllTargetsAny ARPAllTargets = 0
	ARPAllTargetsAll ARPAllTargets = 1
)

var arpAllTargetsNames = enum.Names[ARPAllTargets]{
	ARPAllTargetsAny: "any",
	ARPAllTargetsAll: "all",
}

func (a ARPAllTargets) String() string               { return arpAllTargetsNames.Text(a) }
func (a ARPAllTargets) MarshalText() ([]byte, error) { return arpAllTargetsNames.Marshal(a) }
func (a *ARPAllTargets) UnmarshalText(text []byte) error {
	return arpAllTargetsNames.Parse("ARP targets rule", text, a)
}

// PrimaryReselect is when a bond goes back to its primary slave.
type PrimaryReselect uint8

// The primary reselections.
const (
	PrimaryReselectAlways  PrimaryReselect = 0
	PrimaryReselectBetter  PrimaryReselect = 1
	PrimaryReselectFailure PrimaryReselect = 2
)

var primaryReselectNames = enum.Names[PrimaryReselect]{
	PrimaryReselectAlways:  "always",
	PrimaryReselectBetter:  "better",
	PrimaryReselectFailure: "failure",
}

func (p PrimaryReselect) String() string               { return primaryReselectNames.Text(p) }
func (p PrimaryReselect) MarshalText() ([]byte, error) { return primaryReselectNames.Marshal(p) }
func (p *PrimaryReselect) UnmarshalText(text []byte) error {
	return primaryReselectNames.Parse("primary reselection", text, p)
}

// FailOverMAC is what happens to the hardware address at a fail-over.
type FailOverMAC uint8

// The fail-over MAC policies.
const (
	FailOverMACNone   FailOverMAC = 0
	FailOverMACActive FailOverMAC = 1
	FailOverMACFollow FailOverMAC = 2
)

var failOverMACNames = enum.Names[FailOverMAC]{
	FailOverMACNone:   "none",
	FailOverMACActive: "active",
	FailOverMACFollow: "follow",
}

func (f FailOverMAC) String() string               { return failOverMACNames.Text(f) }
func (f FailOverMAC) MarshalText() ([]byte, error) { return failOverMACNames.Marshal(f) }
func (f *FailOverMAC) UnmarshalText(text []byte) error {
	return failOverMACNames.Parse("fail-over MAC policy", text, f)
}

// ADSelect is how a bond chooses among aggregators.
type ADSelect uint8

// The aggregator selections.
const (
	ADSelectStable    ADSelect = 0
	ADSelectBandwidth ADSelect = 1
	ADSelectCount     ADSelect = 2
)

var adSelectNames = enum.Names[ADSelect]{
	ADSelectStable:    "stable",
	ADSelectBandwidth: "bandwidth",
	ADSelectCount:     "count",
}

func (a ADSelect) String() string               { return adSelectNames.Text(a) }
func (a ADSelect) MarshalText() ([]byte, error) { return adSelectNames.Marshal(a) }
func (a *ADSelect) UnmarshalText(text []byte) error {
	return adSelectNames.Parse("aggregator selection", text, a)
}

// ADLACPActive tells whether LACP packets are sent unasked.
type ADLACPActive uint8

// The LACP activitys.
const (
	ADLACPActiveOff ADLACPActive = 0
	ADLACPActiveOn  ADLACPActive = 1
)

var adLACPActiveNames = enum.Names[ADLACPActive]{
	ADLACPActiveOff: "off",
	ADLACPActiveOn:  "on",
}

func (a ADLACPActive) String() string               { return adLACPActiveNames.Text(a) }
func (a ADLACPActive) MarshalText() ([]byte, error) { return adLACPActiveNames.Marshal(a) }
func (a *ADLACPActive) UnmarshalText(text []byte) error {
	return adLACPActiveNames.Parse("LACP activity", text, a)
}
