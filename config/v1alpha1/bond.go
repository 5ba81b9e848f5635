// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// Bond describes a bond with the kernel's names and values. A number is a pointer if the kernel's default is not 0.
type Bond struct {
	Interfaces      []string         `yaml:"interfaces,omitempty"`
	DeviceSelectors []DeviceSelector `yaml:"deviceSelectors,omitempty"`
	ARPIPTarget     []string         `yaml:"arpIPTarget,omitempty"`
	Mode            string           `yaml:"mode,omitempty"`
	XmitHashPolicy  string           `yaml:"xmitHashPolicy,omitempty"`
	LACPRate        string           `yaml:"lacpRate,omitempty"`
	ADActorSystem   string           `yaml:"adActorSystem,omitempty"`
	ARPValidate     string           `yaml:"arpValidate,omitempty"`
	ARPAllTargets   string           `yaml:"arpAllTargets,omitempty"`
	Primary         string           `yaml:"primary,omitempty"`
	PrimaryReselect string           `yaml:"primaryReselect,omitempty"`
	FailOverMAC     string           `yaml:"failOverMac,omitempty"`
	ADSelect        string           `yaml:"adSelect,omitempty"`
	MIIMon          *uint32          `yaml:"miimon,omitempty"`
	UpDelay         uint32           `yaml:"updelay,omitempty"`
	DownDelay       uint32           `yaml:"downdelay,omitempty"`
	ARPInterval     uint32           `yaml:"arpInterval,omitempty"`
	ResendIGMP      *uint32          `yaml:"resendIgmp,omitempty"`
	MinLinks        uint32           `yaml:"minLinks,omitempty"`
	LPInterval      *uint32          `yaml:"lpInterval,omitempty"`
	PacketsPerSlave *uint32          `yaml:"packetsPerSlave,omitempty"`
	NumPeerNotif    *uint8           `yaml:"numPeerNotif,omitempty"`
	TLBDynamicLB    *uint8           `yaml:"tlbDynamicLb,omitempty"`
	AllSlavesActive uint8            `yaml:"allSlavesActive,omitempty"`
	UseCarrier      *bool            `yaml:"useCarrier,omitempty"`
	ADActorSysPrio  *uint16          `yaml:"adActorSysPrio,omitempty"`
	ADUserPortKey   uint16           `yaml:"adUserPortKey,omitempty"`
	PeerNotifyDelay uint32           `yaml:"peerNotifyDelay,omitempty"`
}

// WireGuardPeer is one peer of a WireGuard link.
type WireGuardPeer struct {
	PublicKey           string        `yaml:"publicKey,omitempty"`
	Endpoint            string        `yaml:"endpoint,omitempty"`
	PersistentKeepalive time.Duration `yaml:"persistentKeepaliveInterval,omitempty"`
	AllowedIPs          []string      `yaml:"allowedIPs,omitempty"`
}
