// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dhcp4"
)

// dhcp4 prepares a DHCPv4 client.
func (c *operators) dhcp4(op *operator, link network.LinkStatusSpec, log *slog.Logger, changed func()) (func(context.Context), error) {
	clientID, err := clientIdentifier(op.spec.DHCP4.ClientIdentifier, link)
	if err != nil {
		return nil, err
	}

	ask := c.deps.DHCP4(&dhcp4.Link{
		Name: op.spec.LinkName, HardwareAddr: []byte(link.HardwareAddr), Hostname: func() string { return c.name(op) },
		SkipHostname: op.spec.DHCP4.SkipHostnameRequest, ClientID: clientID,
	})

	return keepLease(op, &dhcp.Client[*dhcp4.Lease]{Protocol: dhcp.V4(), Ask: ask}, log, changed, fromLease), nil
}

// keepLease returns the function that keeps the lease of an operator.
func keepLease[L dhcp.Lease](
	op *operator, client *dhcp.Client[L], log *slog.Logger, changed func(), specs func(op network.OperatorSpecSpec, lease L, told string) leaseSpecs,
) func(context.Context) {
	client.Check, client.Log = op.check, log
	client.Publish = func(s dhcp.Status[L]) {
		var (
			none    L
			learned func(string) leaseSpecs
		)

		if s.Lease != none {
			learned = func(told string) leaseSpecs { return specs(op.spec, s.Lease, told) }
		}

		op.publish(learned, s.Trouble)
		changed()
	}

	return client.Run
}

// clientIdentifier returns the content of option 61.
func clientIdentifier(spec network.ClientIdentifierSpec, link network.LinkStatusSpec) ([]byte, error) {
	switch spec.ClientIdentifier {
	case nethelpers.ClientIdentifierMAC:
		return append([]byte{byte(link.Type)}, link.HardwareAddr...), nil
	case nethelpers.ClientIdentifierDUID:
		duid, err := hex.DecodeString(spec.DUIDRawHex)
		if err != nil {
			return nil, fmt.Errorf("client identifier: %w", err)
		}

		// RFC 4361: type 255, an identity association (the link's index), the DUID.
		return append([]byte{255, byte(link.Index >> 24), byte(link.Index >> 16), byte(link.Index >> 8), byte(link.Index)}, duid...), nil
	default:
		return nil, nil
	}
}
