// SPDX-License-Identifier: Apache-2.0

package network

import "github.com/seed-59268b81/talos/config/document"

// BondMode is how a bond spreads traffic.
type BondMode string

// Values of BondMode.
const (
	BondModeRoundRobin   BondMode = "balance-rr"
	BondModeActiveBackup BondMode = "active-backup"
	BondModeXOR          BondMode = "balance-xor"
	BondModeBroadcast    BondMode = "broadcast"
	BondMode8023AD       BondMode = "802.3ad"
	BondModeTLB          BondMode = "balance-tlb"
	BondModeALB          BondMode = "balance-alb"
)

// Values implements document.Enum.
func (BondMode) Values() []string {
	return document.EnumOf(BondModeRoundRobin, BondModeActiveBackup, BondModeXOR, BondModeBroadcast, BondMode8023AD, BondModeTLB, BondModeALB)
}

// XmitHashPolicy is what a bond chooses the link of a packet by.
type XmitHashPolicy string

// Values of XmitHashPolicy.
const (
	XmitHashPolicyLayer2  XmitHashPolicy = "layer2"
	XmitHashPolicyLayer34 XmitHashPolicy = "layer3+4"
	XmitHashPolicyLayer23 XmitHashPolicy = "layer2+3"
	XmitHashPolicyEncap23 XmitHashPolicy = "encap2+3"
	XmitHashPolicyEncap34 XmitHashPolicy = "encap3+4"
	XmitHashPolicyVLANMAC XmitHashPolicy = "vlan+srcmac"
)

// Values implements document.Enum.
func (XmitHashPolicy) Values() []string {
	return document.EnumOf(XmitHashPolicyLayer2, XmitHashPolicyLayer34, XmitHashPolicyLayer23, XmitHashPolicyEncap23, XmitHashPolicyEncap34, XmitHashPolicyVLANMAC)
}

// ARPValidate is which links must receive ARP answers.
type ARPValidate string

// Values of ARPValidate.
const (
	ARPValidateNone         ARPValidate = "none"
	ARPValidateActive       ARPValidate = "active"
	ARPValidateBackup       ARPValidate = "backup"
	ARPValidateAll          ARPValidate = "all"
	ARPValidateFilter       ARPValidate = "filter"
	ARPValidateFilterActive ARPValidate = "filter-active"
	ARPValidateFilterBackup ARPValidate = "filter-backup"
)

// Values implements document.Enum.
func (ARPValidate) Values() []string {
	return document.EnumOf(ARPValidateNone, ARPValidateActive, ARPValidateBackup, ARPValidateAll, ARPValidateFilter, ARPValidateFilterActive, ARPValidateFilterBackup)
}

// ARPAllTargets is how many targets must answer.
type ARPAllTargets string

// Values of ARPAllTargets.
const (
	ARPAllTargetsAny ARPAllTargets = "any"
	ARPAllTargetsAll ARPAllTargets = "all"
)

// Values implements document.Enum.
func (ARPAllTargets) Values() []string {
	return document.EnumOf(ARPAllTargetsAny, ARPAllTargetsAll)
}

// LACPRate is how often the peer sends LACP packets.
type LACPRate string

// Values of LACPRate.
const (
	LACPRateSlow LACPRate = "slow"
	LACPRateFast LACPRate = "fast"
)

// Values implements document.Enum.
func (LACPRate) Values() []string {
	return document.EnumOf(LACPRateSlow, LACPRateFast)
}

// FailOverMAC is which addresses the links of a bond have.
type FailOverMAC string

// Values of FailOverMAC.
const (
	FailOverMACNone   FailOverMAC = "none"
	FailOverMACActive FailOverMAC = "active"
	FailOverMACFollow FailOverMAC = "follow"
)

// Values implements document.Enum.
func (FailOverMAC) Values() []string {
	return document.EnumOf(FailOverMACNone, FailOverMACActive, FailOverMACFollow)
}

// ADSelect is how the active aggregator is chosen.
type ADSelect string

// Values of ADSelect.
const (
	ADSelectStable    ADSelect = "stable"
	ADSelectBandwidth ADSelect = "bandwidth"
	ADSelectCount     ADSelect = "count"
)

// Values implements document.Enum.
func (ADSelect) Values() []string {
	return document.EnumOf(ADSelectStable, ADSelectBandwidth, ADSelectCount)
}

// ADLACPActive is whether LACP packets are sent unasked.
type ADLACPActive string

// Values of ADLACPActive.
const (
	ADLACPActiveOff ADLACPActive = "off"
	ADLACPActiveOn  ADLACPActive = "on"
)

// Values implements document.Enum.
func (ADLACPActive) Values() []string {
	return document.EnumOf(ADLACPActiveOff, ADLACPActiveOn)
}

// PrimaryReselect is when the primary link is used again.
type PrimaryReselect string

// Values of PrimaryReselect.
const (
	PrimaryReselectAlways  PrimaryReselect = "always"
	PrimaryReselectBetter  PrimaryReselect = "better"
	PrimaryReselectFailure PrimaryReselect = "failure"
)

// Values implements document.Enum.
func (PrimaryReselect) Values() []string {
	return document.EnumOf(PrimaryReselectAlways, PrimaryReselectBetter, PrimaryReselectFailure)
}
