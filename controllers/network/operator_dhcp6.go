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
	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dhcp6"
)

// dhcp6 prepares a DHCPv6 client.
func (c *operators) dhcp6(op *operator, link network.LinkStatusSpec, log *slog.Logger, changed func()) (func(context.Context), error) {
	settings := &dhcp6.Link{
		Name: op.spec.LinkName, HardwareAddr: []byte(link.HardwareAddr), Hostname: func() string { return c.name(op) },
		SkipHostname: op.spec.DHCP6.SkipHostnameRequest,
	}

	if id := op.spec.DHCP6.ClientIdentifier; id.ClientIdentifier == nethelpers.ClientIdentifierDUID {
		duid, err := hex.DecodeString(strings.ReplaceAll(id.DUIDRawHex, ":", ""))
		if err != nil {
			return nil, fmt.Errorf("client identifier: %w", err)
		}

		settings.DUID = duid
	}

	client := &dhcp.Client[*dhcp6.Lease]{Protocol: dhcp.V6(op.mode == mode6Stateless), Ask: c.deps.DHCP6(settings)}

	return keepLease(op, client, log, changed, fromLease6), nil
}

// fromLease6 returns the specs of a DHCPv6 lease. Told is the name that was sent to the server.
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
