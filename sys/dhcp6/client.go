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
	"log/slog"
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

// Status is what a client has.
type Status = dhcp.Status[*Lease]

// Client keeps a lease.
type Client struct {
	Exchange Exchange
	// Stateless asks for no address.
	Stateless bool
	// Publish is called with each new status.
	Publish func(Status)
	Log     *slog.Logger
	// Check makes the client ask at once: the link was down. Nil is never.
	Check <-chan struct{}
}

// Run keeps a lease until the context ends.
func (c *Client) Run(ctx context.Context) {
	client := dhcp.Client[*Lease]{Protocol: dhcp.V6(c.Stateless), Ask: c.ask, Publish: c.Publish, Log: c.Log, Check: c.Check}
	client.Run(ctx)
}

func (c *Client) ask(ctx context.Context, question dhcp.Question, lease *Lease, timeout time.Duration) (*Lease, error) {
	switch question {
	case dhcp.Inform:
		return c.Exchange.Inform(ctx, timeout)
	case dhcp.Renew:
		return c.Exchange.Renew(ctx, lease, timeout)
	case dhcp.Rebind:
		return c.Exchange.Rebind(ctx, lease, timeout)
	default:
		return c.Exchange.Acquire(ctx, timeout)
	}
}
