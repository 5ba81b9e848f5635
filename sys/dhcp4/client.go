// SPDX-License-Identifier: Apache-2.0

// Package dhcp4 is a DHCPv4 client for one link (RFC 2131). Packets are the work of github.com/insomniacslk/dhcp; the states and
// their times are package dhcp's, on an Exchange that tests replace.
package dhcp4

import (
	"context"
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

// NewClient returns a client that has no Log and no Publish yet.
func NewClient(e Exchange) *dhcp.Client[*Lease] {
	return &dhcp.Client[*Lease]{Protocol: dhcp.V4(), Ask: func(ctx context.Context, question dhcp.Question, lease *Lease, timeout time.Duration) (*Lease, error) {
		switch question {
		case dhcp.Renew:
			return e.Renew(ctx, lease, timeout)
		case dhcp.Rebind:
			return e.Rebind(ctx, lease, timeout)
		case dhcp.Verify:
			return e.Verify(ctx, lease, timeout)
		default:
			return e.Acquire(ctx, timeout)
		}
	}}
}
