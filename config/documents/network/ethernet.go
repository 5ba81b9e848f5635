// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
)

// EthernetConfig sets up an Ethernet card as ethtool(8) does. Its name is that of the link. What is not set stays as it is.
type EthernetConfig struct {
	document.Named `yaml:",inline"`
	// Features of the card by their kernel names, on or off.
	Features map[string]bool `yaml:"features,omitempty"`
	// Sizes of the rings of packets.
	Rings *EthernetRings `yaml:"rings,omitempty"`
	// Numbers of queues.
	Channels *EthernetChannels `yaml:"channels,omitempty"`
	// What wakes up the machine.
	WakeOnLAN []WakeOnLAN `yaml:"wakeOnLan,omitempty"`
}

// EthernetRings are the rings of a card, in packets unless said otherwise.
type EthernetRings struct {
	// Packets that arrive.
	RX *uint32 `yaml:"rx,omitempty"`
	// Packets to be sent.
	TX *uint32 `yaml:"tx,omitempty"`
	// Small packets that arrive.
	RXMini *uint32 `yaml:"rx-mini,omitempty"`
	// Large packets that arrive.
	RXJumbo *uint32 `yaml:"rx-jumbo,omitempty"`
	// Size of the buffers of packets that arrive, in bytes.
	RXBufLen *uint32 `yaml:"rx-buf-len,omitempty"`
	// Size of an event of the completion queue, in bytes.
	CQESize *uint32 `yaml:"cqe-size,omitempty"`
	// Whether descriptors of packets to be sent are pushed to the card.
	TXPush *bool `yaml:"tx-push,omitempty"`
	// Whether descriptors of packets that arrive are pushed to the card.
	RXPush *bool `yaml:"rx-push,omitempty"`
	// Size of the buffer for pushed descriptors, in bytes.
	TXPushBufLen *uint32 `yaml:"tx-push-buf-len,omitempty"`
	// Whether the card splits headers from data of TCP.
	TCPDataSplit *bool `yaml:"tcp-data-split,omitempty"`
}

// EthernetChannels are the queues of a card.
type EthernetChannels struct {
	// Queues of packets that arrive.
	RX *uint32 `yaml:"rx,omitempty"`
	// Queues of packets to be sent.
	TX *uint32 `yaml:"tx,omitempty"`
	// Queues for other events.
	Other *uint32 `yaml:"other,omitempty"`
	// Queues for both directions.
	Combined *uint32 `yaml:"combined,omitempty"`
}

// WakeOnLAN is what wakes up a machine.
type WakeOnLAN string

// The wake-up modes (ethtool(8)).
const (
	WakeOnPHY         WakeOnLAN = "phy"
	WakeOnUnicast     WakeOnLAN = "unicast"
	WakeOnMulticast   WakeOnLAN = "multicast"
	WakeOnBroadcast   WakeOnLAN = "broadcast"
	WakeOnARP         WakeOnLAN = "arp"
	WakeOnMagic       WakeOnLAN = "magic"
	WakeOnMagicSecure WakeOnLAN = "magicsecure"
	WakeOnFilter      WakeOnLAN = "filter"
)

// Values implements document.Enum.
func (WakeOnLAN) Values() []string {
	return document.EnumOf(WakeOnPHY, WakeOnUnicast, WakeOnMulticast, WakeOnBroadcast, WakeOnARP, WakeOnMagic, WakeOnMagicSecure, WakeOnFilter)
}

var ethernet = document.Of[EthernetConfig]("EthernetConfig", `apiVersion: v1alpha1
kind: EthernetConfig
name: eth0
features:
    tx-tcp-segmentation: false
rings:
    rx: 1024
channels:
    combined: 4
wakeOnLan:
    - magic
`)
