// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"net"
	"net/netip"
)

// Instance is a cloud's description of a machine.
type Instance struct {
	// Platform is the cloud, one of Platforms.
	Platform string
	// ID is the instance's id, in the cloud's form, by default derived from the first card's hardware address. On
	// clouds whose ids are UUIDs it is always derived.
	ID string
	// Name is the host name without a domain.
	Name   string
	Domain string
	// Type is the size of the machine ("m5.large"), Project its account, tenant or project.
	Type, Project string
	Region, Zone  string
	// UserData is the machine configuration.
	UserData []byte
	Tags     map[string]string
	// Public4 and Public6 are addresses that the cloud translates to the first card's.
	Public4, Public6 netip.Addr
	Cards            []Card
	DNS              []netip.Addr
}

// Card is a network card of an instance.
type Card struct {
	MAC     net.HardwareAddr
	MTU     int
	Addrs   []netip.Prefix
	Routers []netip.Addr // at most one for each protocol
}
