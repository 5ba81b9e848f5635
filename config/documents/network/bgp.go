// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// BGPInstanceConfig runs a speaker of the Border Gateway Protocol.
type BGPInstanceConfig struct {
	document.Named `yaml:",inline"`
	// The VRF whose routes it speaks of; the main table without one.
	VRF value.LinkName `yaml:"vrf,omitempty"`
	// The number of the own autonomous system.
	LocalASN uint32 `yaml:"localASN" required:"true"`
	// The identity of the speaker, in the form of an IPv4 address.
	RouterID netip.Addr `yaml:"routerID,omitempty"`
	// The source address of installed routes.
	RouteSource netip.Addr `yaml:"routeSource,omitempty"`
	// The networks that neighbors are told.
	Advertise []netip.Prefix `yaml:"advertise,omitempty" merge:"replace"`
	// Whether several routes to a network are used at once.
	Multipath bool `yaml:"multipath,omitempty"`
	// How many routes to a network are used at once.
	MaxPaths uint32 `yaml:"maxPaths,omitempty"`
	// Whether the routes of neighbors are installed.
	InstallRoutes bool `yaml:"installRoutes,omitempty"`
	// Routes that come from other speakers of this machine.
	ImportRoutes []BGPImport `yaml:"importRoutes,omitempty" merge:"replace"`
	// The neighbors.
	Neighbors []BGPNeighbor `yaml:"neighbors,omitempty" merge:"replace"`
}

// BGPImport is what a speaker takes from another one.
type BGPImport struct {
	// Name of the other speaker.
	BGPInstance string `yaml:"bgpInstance" required:"true"`
	// The networks.
	Prefixes []netip.Prefix `yaml:"prefixes,omitempty"`
}

// BGPNeighbor is another router.
type BGPNeighbor struct {
	// Address of the neighbor.
	Address netip.Addr `yaml:"address,omitempty"`
	// The link that the neighbor is on, if it has no address that is known before.
	Link value.LinkName `yaml:"link,omitempty"`
	// The number of the neighbor's autonomous system.
	PeerASN uint32 `yaml:"peerASN,omitempty"`
	// The number of the own autonomous system as this neighbor sees it.
	LocalASN uint32 `yaml:"localASN,omitempty"`
	// Whether the neighbor connects first.
	Passive bool `yaml:"passive,omitempty"`
	// How long a silent neighbor counts as alive.
	HoldTime time.Duration `yaml:"holdTime,omitempty"`
	// Bidirectional Forwarding Detection, which finds out sooner that a neighbor is down.
	BFD *BFD `yaml:"bfd,omitempty"`
}

// BFD is Bidirectional Forwarding Detection (RFC 5880).
type BFD struct {
	// How often packets are sent.
	TransmitInterval time.Duration `yaml:"transmitInterval,omitempty"`
	// How often packets are expected.
	ReceiveInterval time.Duration `yaml:"receiveInterval,omitempty"`
	// How many missing packets mean that the neighbor is down.
	DetectMultiplier uint8 `yaml:"detectMultiplier,omitempty"`
}

var bgp = document.Of[BGPInstanceConfig]("BGPInstanceConfig", `apiVersion: v1alpha1
kind: BGPInstanceConfig
name: main
localASN: 64512
routerID: 192.0.2.10
advertise:
    - 198.51.100.0/24
installRoutes: true
neighbors:
    - address: 192.0.2.1
      peerASN: 64513
`)

// Validate implements document.Validator.
func (c *BGPInstanceConfig) Validate(r *document.Report) {
	if c.RouterID.IsValid() && !c.RouterID.Is4() {
		r.Wrong("routerID", "%s is not an IPv4 address", c.RouterID)
	}

	for i, n := range c.Neighbors {
		if n.Address.IsValid() == (n.Link != "") {
			r.Wrong(index("neighbors", i), "name either the address of the neighbor or its link")
		}
	}
}
