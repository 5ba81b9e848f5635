// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/dhcp6"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// mode6 is what a DHCPv6 client asks for.
type mode6 uint8

const (
	mode6Off mode6 = iota
	mode6Stateless
	mode6Stateful
)

// mode is what the DHCPv6 client of a spec asks for. One that the configuration asks for asks for addresses; one by default
// does what routers say (RFC 4861, 4.2), and goes on with it while the link is silent.
func (c *operators) mode(id string, spec network.OperatorSpecSpec, now *netlink.Snapshot) mode6 {
	if spec.Operator != network.OperatorDHCP6 {
		return mode6Off
	}

	if spec.Layer > network.LayerDefault {
		return mode6Stateful
	}

	link, _ := now.Link(spec.LinkName)

	switch {
	case link.Router&netlink.RouterManaged != 0:
		return mode6Stateful
	case link.Router&netlink.RouterOtherConfig != 0:
		return mode6Stateless
	case link.Router&netlink.RouterSeen == 0 && c.running[id] != nil && c.running[id].index == link.Index:
		return c.running[id].mode
	default:
		return mode6Off
	}
}

// dhcp6 prepares a DHCPv6 client.
func (c *operators) dhcp6(op *operator, link network.LinkStatusSpec, log *slog.Logger, changed func()) (func(context.Context), error) {
	settings := DHCP6Settings{SkipHostname: op.spec.DHCP6.SkipHostnameRequest, Hostname: func() string { return c.name(op) }}

	if id := op.spec.DHCP6.ClientIdentifier; id.ClientIdentifier == nethelpers.ClientIdentifierDUID {
		duid, err := hex.DecodeString(strings.ReplaceAll(id.DUIDRawHex, ":", ""))
		if err != nil {
			return nil, fmt.Errorf("client identifier: %w", err)
		}

		settings.DUID = duid
	}

	client := dhcp6.Client{
		Check: op.check, Log: log, Stateless: op.mode == mode6Stateless,
		Exchange: c.deps.DHCP6(op.spec.LinkName, []byte(link.HardwareAddr), settings),
		Publish: func(s dhcp6.Status) {
			var learned func(string) leaseSpecs
			if s.Lease != nil {
				learned = func(told string) leaseSpecs { return fromLease6(op.spec, s.Lease, told) }
			}

			op.publish(learned, s.Trouble)
			changed()
		},
	}

	return client.Run, nil
}

// fromLease6 turns a DHCPv6 lease into specs. Told is the name that the server was told.
func fromLease6(op network.OperatorSpecSpec, lease *dhcp6.Lease, told string) leaseSpecs {
	var specs leaseSpecs

	for _, a := range lease.Addresses {
		specs.addresses = append(specs.addresses, addressSpec(op.LinkName, netip.PrefixFrom(a, a.BitLen()), network.LayerOperator))
	}

	if !op.DHCP6.SkipHostnameRequest {
		specs.hostnames = leasedHostname(lease.Hostname, "", told)
	}

	specs.resolvers = leasedResolvers(lease.DNS, lease.Search)
	specs.timeServers = leasedTimeServers(lease.NTP)

	return specs
}
