// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"net"
	"net/netip"
)

// Instance is what a cloud knows of a machine.
type Instance struct {
	// Platform is the cloud, one of Platforms.
	Platform string
	// ID is the instance's id, in the form that the cloud uses; made from the
	// first card's hardware address if empty. Clouds whose ids are UUIDs always
	// make theirs so.
	ID string
	// Name is the host name without a domain.
	Name   string
	Domain string
	// Type is the size of the machine ("m5.large"), Project the account, tenant
	// or project that it belongs to.
	Type, Project string
	Region, Zone  string
	// UserData is the machine configuration.
	UserData []byte
	Tags     map[string]string
	// Public4 and Public6 are addresses that the cloud translates to the first
	// card's.
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
