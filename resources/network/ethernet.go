// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var (
	ethernetSpecDefinition   = domain.Type("EthernetSpecs")
	ethernetStatusDefinition = domain.Alias("ethtool").Type("EthernetStatuses", "Link={.linkState}", "Speed={.speedMbit}")
)

// EthernetSpecSpec are wanted settings of a network card. Its id is the name of the link. What is not set stays as it is.
type EthernetSpecSpec struct {
	Rings     EthernetRingsSpec    `yaml:"rings,omitempty" protobuf:"1"`
	Features  map[string]bool      `yaml:"features,omitempty" protobuf:"2"`
	Channels  EthernetChannelsSpec `yaml:"channels,omitempty" protobuf:"3"`
	WakeOnLAN []nethelpers.WOLMode `yaml:"wakeOnLan,omitempty" protobuf:"4"`
}

// Definition implements resource.Spec.
func (EthernetSpecSpec) Definition() *resource.Definition { return ethernetSpecDefinition }

// EthernetRingsSpec are wanted sizes of rings.
type EthernetRingsSpec struct {
	RX           *uint32 `yaml:"rx,omitempty" protobuf:"1"`
	RXMini       *uint32 `yaml:"rx-mini,omitempty" protobuf:"2"`
	RXJumbo      *uint32 `yaml:"rx-jumbo,omitempty" protobuf:"3"`
	TX           *uint32 `yaml:"tx,omitempty" protobuf:"4"`
	RXBufLen     *uint32 `yaml:"rx-buf-len,omitempty" protobuf:"5"`
	CQESize      *uint32 `yaml:"cqe-size,omitempty" protobuf:"6"`
	TXPush       *bool   `yaml:"tx-push,omitempty" protobuf:"7"`
	RXPush       *bool   `yaml:"rx-push,omitempty" protobuf:"8"`
	TXPushBufLen *uint32 `yaml:"tx-push-buf-len,omitempty" protobuf:"9"`
	TCPDataSplit *bool   `yaml:"tcp-data-split,omitempty" protobuf:"10"`
}

// EthernetChannelsSpec are wanted numbers of queues.
type EthernetChannelsSpec struct {
	RX       *uint32 `yaml:"rx,omitempty" protobuf:"1"`
	TX       *uint32 `yaml:"tx,omitempty" protobuf:"2"`
	Other    *uint32 `yaml:"other,omitempty" protobuf:"3"`
	Combined *uint32 `yaml:"combined,omitempty" protobuf:"4"`
}

// EthernetStatusSpec are the settings of a network card.
type EthernetStatusSpec struct {
	LinkState     *bool                   `yaml:"linkState,omitempty" protobuf:"1"`
	SpeedMegabits int                     `yaml:"speedMbit,omitempty" protobuf:"2"`
	Port          nethelpers.Port         `yaml:"port" protobuf:"3"`
	Duplex        nethelpers.Duplex       `yaml:"duplex" protobuf:"4"`
	OurModes      []string                `yaml:"ourModes,omitempty" protobuf:"5"`
	PeerModes     []string                `yaml:"peerModes,omitempty" protobuf:"6"`
	Rings         *EthernetRingsStatus    `yaml:"rings,omitempty" protobuf:"7"`
	Features      []EthernetFeatureStatus `yaml:"features,omitempty" protobuf:"8"`
	Channels      *EthernetChannelsStatus `yaml:"channels,omitempty" protobuf:"9"`
	WakeOnLAN     []nethelpers.WOLMode    `yaml:"wakeOnLan,omitempty" protobuf:"10"`
}

// Definition implements resource.Spec.
func (EthernetStatusSpec) Definition() *resource.Definition { return ethernetStatusDefinition }

// EthernetRingsStatus are the sizes of rings, with the largest ones. A driver has only some.
type EthernetRingsStatus struct {
	RXMax           *uint32 `yaml:"rx-max,omitempty" protobuf:"1"`
	RXMiniMax       *uint32 `yaml:"rx-mini-max,omitempty" protobuf:"2"`
	RXJumboMax      *uint32 `yaml:"rx-jumbo-max,omitempty" protobuf:"3"`
	TXMax           *uint32 `yaml:"tx-max,omitempty" protobuf:"4"`
	TXPushBufLenMax *uint32 `yaml:"tx-push-buf-len-max,omitempty" protobuf:"5"`
	RX              *uint32 `yaml:"rx,omitempty" protobuf:"6"`
	RXMini          *uint32 `yaml:"rx-mini,omitempty" protobuf:"7"`
	RXJumbo         *uint32 `yaml:"rx-jumbo,omitempty" protobuf:"8"`
	TX              *uint32 `yaml:"tx,omitempty" protobuf:"9"`
	RXBufLen        *uint32 `yaml:"rx-buf-len,omitempty" protobuf:"10"`
	CQESize         *uint32 `yaml:"cqe-size,omitempty" protobuf:"11"`
	TXPush          *bool   `yaml:"tx-push,omitempty" protobuf:"12"`
	RXPush          *bool   `yaml:"rx-push,omitempty" protobuf:"13"`
	TXPushBufLen    *uint32 `yaml:"tx-push-buf-len,omitempty" protobuf:"14"`
	TCPDataSplit    *bool   `yaml:"tcp-data-split,omitempty" protobuf:"15"`
}

// EthernetFeatureStatus is a feature: on or off, with [fixed] if it cannot be changed.
type EthernetFeatureStatus struct {
	Name   string `yaml:"name" protobuf:"1"`
	Status string `yaml:"status" protobuf:"2"`
}

// EthernetChannelsStatus are the numbers of queues, with the largest ones.
type EthernetChannelsStatus struct {
	RXMax       *uint32 `yaml:"rx-max,omitempty" protobuf:"1"`
	TXMax       *uint32 `yaml:"tx-max,omitempty" protobuf:"2"`
	OtherMax    *uint32 `yaml:"other-max,omitempty" protobuf:"3"`
	CombinedMax *uint32 `yaml:"combined-max,omitempty" protobuf:"4"`
	RX          *uint32 `yaml:"rx,omitempty" protobuf:"5"`
	TX          *uint32 `yaml:"tx,omitempty" protobuf:"6"`
	Other       *uint32 `yaml:"other,omitempty" protobuf:"7"`
	Combined    *uint32 `yaml:"combined,omitempty" protobuf:"8"`
}
