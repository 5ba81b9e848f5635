// SPDX-License-Identifier: Apache-2.0

// Package dhcp6 is a DHCPv6 client for one link (RFC 8415): stateful, it gets addresses and keeps them by renewing and
// rebinding; stateless, it asks for what else a server knows and asks again when that is old. Packets are the work of
// github.com/insomniacslk/dhcp; the states and their times are package dhcp's, on an Exchange that tests replace.
//
// Left out: temporary addresses, prefix delegation, Decline (the kernel's duplicate address detection shows as a flag of
// the address), Confirm: after the link was down the client rebinds, which servers answer with the same.
package dhcp6

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/sys/dhcp"
)

// ErrRefused is a server's word that it knows nothing of the lease.
var ErrRefused = dhcp.ErrUnknown

// Exchange is one conversation with a server. Each fails when nobody answers in time.
type Exchange interface {
	// Acquire gets a new lease: solicit, advertise, request, reply.
	Acquire(ctx context.Context, timeout time.Duration) (*Lease, error)
	// Renew asks the server that granted the lease.
	Renew(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error)
	// Rebind asks any server.
	Rebind(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error)
	// Inform asks for what is not about addresses.
	Inform(ctx context.Context, timeout time.Duration) (*Lease, error)
}

// NewClient returns a client that has no Log and no Publish yet. A stateless one asks for no address.
func NewClient(e Exchange, stateless bool) *dhcp.Client[*Lease] {
	return &dhcp.Client[*Lease]{Protocol: dhcp.V6(stateless), Ask: func(ctx context.Context, question dhcp.Question, lease *Lease, timeout time.Duration) (*Lease, error) {
		switch question {
		case dhcp.Inform:
			return e.Inform(ctx, timeout)
		case dhcp.Renew:
			return e.Renew(ctx, lease, timeout)
		case dhcp.Rebind:
			return e.Rebind(ctx, lease, timeout)
		default:
			return e.Acquire(ctx, timeout)
		}
	}}
}
