// SPDX-License-Identifier: Apache-2.0

// Package dhcp4 is a DHCPv4 client for one link (RFC 2131). Packets are the work of github.com/insomniacslk/dhcp; the states and
// their times are package dhcp's, on an Exchange that tests replace.
package dhcp4

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/sys/dhcp"
)

// ErrRefused is a server's NAK: the lease is not, or no longer, ours.
var ErrRefused = dhcp.ErrRefused

// Exchange is one conversation with a server. Each fails when nobody answers in time.
type Exchange interface {
	// Acquire gets a new lease: discover, offer, request, acknowledgement.
	Acquire(ctx context.Context, timeout time.Duration) (*Lease, error)
	// Renew asks the server that granted the lease.
	Renew(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error)
	// Rebind asks any server.
	Rebind(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error)
	// Verify asks whether the lease still is ours on this network (state INIT-REBOOT).
	Verify(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error)
}

// Status is what a client has.
type Status = dhcp.Status[*Lease]

// Client keeps a lease.
type Client struct {
	Exchange Exchange
	// Publish is called with each new status.
	Publish func(Status)
	Log     *slog.Logger
	// Check makes the client ask at once whether its lease still holds. Nil is never.
	Check <-chan struct{}

	// spread is jitter, but in tests.
	spread func(time.Duration) time.Duration
}

// Run keeps a lease until the context ends.
func (c *Client) Run(ctx context.Context) {
	client := dhcp.Client[*Lease]{Protocol: dhcp.V4(), Ask: c.ask, Publish: c.Publish, Log: c.Log, Check: c.Check}
	if c.spread != nil {
		client.Spread = c.spread
	}

	client.Run(ctx)
}

func (c *Client) ask(ctx context.Context, question dhcp.Question, lease *Lease, timeout time.Duration) (*Lease, error) {
	switch question {
	case dhcp.Renew:
		return c.Exchange.Renew(ctx, lease, timeout)
	case dhcp.Rebind:
		return c.Exchange.Rebind(ctx, lease, timeout)
	case dhcp.Verify:
		return c.Exchange.Verify(ctx, lease, timeout)
	default:
		return c.Exchange.Acquire(ctx, timeout)
	}
}
