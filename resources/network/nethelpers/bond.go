// SPDX-License-Identifier: Apache-2.0

package nethelpers

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

var bondModeNames = names[BondMode]{
	BondModeRoundRobin:   "balance-rr",
	BondModeActiveBackup: "active-backup",
	BondModeXOR:          "balance-xor",
	BondModeBroadcast:    "broadcast",
	BondMode8023AD:       "802.3ad",
	BondModeTLB:          "balance-tlb",
	BondModeALB:          "balance-alb",
}

// String implements fmt.Stringer.
func (b BondMode) String() string { return bondModeNames.text(b) }

// MarshalText implements encoding.TextMarshaler.
func (b BondMode) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *BondMode) UnmarshalText(text []byte) error { return bondModeNames.parse("bond mode", text, b) }

// BondXmitHashPolicy is what a bond hashes to choose a slave.
type BondXmitHashPolicy uint8

// The bond transmit hash policys.
const (
	BondXmitPolicyLayer2  BondXmitHashPolicy = 0
	BondXmitPolicyLayer34 BondXmitHashPolicy = 1
	BondXmitPolicyLayer23 BondXmitHashPolicy = 2
	BondXmitPolicyEncap23 BondXmitHashPolicy = 3
	BondXmitPolicyEncap34 BondXmitHashPolicy = 4
	BondXmitPolicyVLANMAC BondXmitHashPolicy = 5
)

var bondXmitHashPolicyNames = names[BondXmitHashPolicy]{
	BondXmitPolicyLayer2:  "layer2",
	BondXmitPolicyLayer34: "layer3+4",
	BondXmitPolicyLayer23: "layer2+3",
	BondXmitPolicyEncap23: "encap2+3",
	BondXmitPolicyEncap34: "encap3+4",
	BondXmitPolicyVLANMAC: "vlan+srcmac",
}

// String implements fmt.Stringer.
func (b BondXmitHashPolicy) String() string { return bondXmitHashPolicyNames.text(b) }

// MarshalText implements encoding.TextMarshaler.
func (b BondXmitHashPolicy) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *BondXmitHashPolicy) UnmarshalText(text []byte) error {
	return bondXmitHashPolicyNames.parse("bond transmit hash policy", text, b)
}

// LACPRate is how often LACP packets are asked for.
type LACPRate uint8

// The LACP rates.
const (
	LACPRateSlow LACPRate = 0
	LACPRateFast LACPRate = 1
)

var lACPRateNames = names[LACPRate]{
	LACPRateSlow: "slow",
	LACPRateFast: "fast",
}

// String implements fmt.Stringer.
func (l LACPRate) String() string { return lACPRateNames.text(l) }

// MarshalText implements encoding.TextMarshaler.
func (l LACPRate) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *LACPRate) UnmarshalText(text []byte) error { return lACPRateNames.parse("LACP rate", text, l) }

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

var aRPValidateNames = names[ARPValidate]{
	ARPValidateNone:         "none",
	ARPValidateActive:       "active",
	ARPValidateBackup:       "backup",
	ARPValidateAll:          "all",
	ARPValidateFilter:       "filter",
	ARPValidateFilterActive: "filter_active",
	ARPValidateFilterBackup: "filter_backup",
}

// String implements fmt.Stringer.
func (a ARPValidate) String() string { return aRPValidateNames.text(a) }

// MarshalText implements encoding.TextMarshaler.
func (a ARPValidate) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *ARPValidate) UnmarshalText(text []byte) error {
	return aRPValidateNames.parse("ARP validation", text, a)
}

// ARPAllTargets tells how many ARP targets must answer.
type ARPAllTargets uint32

// The ARP targets rules.
const (
	ARPAllTargetsAny ARPAllTargets = 0
	ARPAllTargetsAll ARPAllTargets = 1
)

var aRPAllTargetsNames = names[ARPAllTargets]{
	ARPAllTargetsAny: "any",
	ARPAllTargetsAll: "all",
}

// String implements fmt.Stringer.
func (a ARPAllTargets) String() string { return aRPAllTargetsNames.text(a) }

// MarshalText implements encoding.TextMarshaler.
func (a ARPAllTargets) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *ARPAllTargets) UnmarshalText(text []byte) error {
	return aRPAllTargetsNames.parse("ARP targets rule", text, a)
}

// PrimaryReselect is when a bond goes back to its primary slave.
type PrimaryReselect uint8

// The primary reselections.
const (
	PrimaryReselectAlways  PrimaryReselect = 0
	PrimaryReselectBetter  PrimaryReselect = 1
	PrimaryReselectFailure PrimaryReselect = 2
)

var primaryReselectNames = names[PrimaryReselect]{
	PrimaryReselectAlways:  "always",
	PrimaryReselectBetter:  "better",
	PrimaryReselectFailure: "failure",
}

// String implements fmt.Stringer.
func (p PrimaryReselect) String() string { return primaryReselectNames.text(p) }

// MarshalText implements encoding.TextMarshaler.
func (p PrimaryReselect) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *PrimaryReselect) UnmarshalText(text []byte) error {
	return primaryReselectNames.parse("primary reselection", text, p)
}

// FailOverMAC is what happens to the hardware address at a fail-over.
type FailOverMAC uint8

// The fail-over MAC policys.
const (
	FailOverMACNone   FailOverMAC = 0
	FailOverMACActive FailOverMAC = 1
	FailOverMACFollow FailOverMAC = 2
)

var failOverMACNames = names[FailOverMAC]{
	FailOverMACNone:   "none",
	FailOverMACActive: "active",
	FailOverMACFollow: "follow",
}

// String implements fmt.Stringer.
func (f FailOverMAC) String() string { return failOverMACNames.text(f) }

// MarshalText implements encoding.TextMarshaler.
func (f FailOverMAC) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *FailOverMAC) UnmarshalText(text []byte) error {
	return failOverMACNames.parse("fail-over MAC policy", text, f)
}

// ADSelect is how a bond chooses among aggregators.
type ADSelect uint8

// The aggregator selections.
const (
	ADSelectStable    ADSelect = 0
	ADSelectBandwidth ADSelect = 1
	ADSelectCount     ADSelect = 2
)

var aDSelectNames = names[ADSelect]{
	ADSelectStable:    "stable",
	ADSelectBandwidth: "bandwidth",
	ADSelectCount:     "count",
}

// String implements fmt.Stringer.
func (a ADSelect) String() string { return aDSelectNames.text(a) }

// MarshalText implements encoding.TextMarshaler.
func (a ADSelect) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *ADSelect) UnmarshalText(text []byte) error {
	return aDSelectNames.parse("aggregator selection", text, a)
}

// ADLACPActive tells whether LACP packets are sent unasked.
type ADLACPActive uint8

// The LACP activitys.
const (
	ADLACPActiveOff ADLACPActive = 0
	ADLACPActiveOn  ADLACPActive = 1
)

var aDLACPActiveNames = names[ADLACPActive]{
	ADLACPActiveOff: "off",
	ADLACPActiveOn:  "on",
}

// String implements fmt.Stringer.
func (a ADLACPActive) String() string { return aDLACPActiveNames.text(a) }

// MarshalText implements encoding.TextMarshaler.
func (a ADLACPActive) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *ADLACPActive) UnmarshalText(text []byte) error {
	return aDLACPActiveNames.parse("LACP activity", text, a)
}
