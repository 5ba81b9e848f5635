// SPDX-License-Identifier: Apache-2.0

// Package dhcp4 is a DHCPv4 client for one link (RFC 2131): it gets a lease, keeps it by renewing and
// rebinding, checks it when the link was down, and gives it up when it ends. Packets are the work of
// github.com/insomniacslk/dhcp; the states and their times are here, on an Exchange that tests replace.
package dhcp4

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// ErrRefused is a server's NAK: the lease is not, or no longer, ours.
var ErrRefused = errors.New("the DHCP server refused")

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

// Client keeps a lease.
type Client struct {
	Exchange Exchange
	// Publish is called with each new state of the lease, nil when there is none any more.
	Publish func(*Lease)
	Log     *slog.Logger

	// Check makes the client ask at once whether its lease still holds: the link was down, or what the client
	// says of itself changed. Nil is never.
	Check <-chan struct{}
}

// The times of asking again: RFC 2131, 4.1 doubles from 4 s to 64 s; a machine that boots asks sooner.
const (
	firstTimeout = time.Second
	lastTimeout  = 64 * time.Second
	// leastRetry is how soon at least a renewal is tried again; the RFC's 60 s are too long for short leases.
	leastRetry = 5 * time.Second
)

// Run keeps a lease until the context ends. What it had stays valid after that, for the address is in use
// until its owner takes it away.
func (c *Client) Run(ctx context.Context) {
	for ctx.Err() == nil {
		lease := c.acquire(ctx)
		if lease == nil {
			return
		}

		c.Log.Info("DHCP lease", "address", lease.Address, "server", lease.Server, "for", lease.Expire)
		c.Publish(lease)

		if !c.keep(ctx, lease) {
			return
		}

		c.Publish(nil)
	}
}

// acquire asks until it gets a lease; nil is the end of the context.
func (c *Client) acquire(ctx context.Context) *Lease {
	for timeout := firstTimeout; ; timeout = min(2*timeout, lastTimeout) {
		started := time.Now()

		lease, err := c.Exchange.Acquire(ctx, timeout)
		if err == nil {
			return lease
		}

		if ctx.Err() != nil {
			return nil
		}

		c.Log.Debug("no DHCP lease yet", "error", err, "timeout", timeout)

		// An error may come at once (the link just went down): the time is used up all the same.
		if !c.sleep(ctx, jitter(timeout)-time.Since(started)) {
			return nil
		}
	}
}

// keep renews the lease until it is lost (true) or the context ends (false).
func (c *Client) keep(ctx context.Context, lease *Lease) (lost bool) {
	granted := time.Now()

	for {
		checked, ok := c.wait(ctx, lease, granted)
		if !ok {
			return false
		}

		next, err := c.ask(ctx, lease, time.Since(granted), checked)

		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && next.Address != lease.Address:
			c.Log.Warn("the DHCP server changed the address", "from", lease.Address, "to", next.Address)

			fallthrough
		case err == nil:
			lease, granted = next, time.Now()
			c.Publish(lease)
		case errors.Is(err, ErrRefused):
			c.Log.Warn("DHCP lease lost", "address", lease.Address, "error", err)

			return true
		default:
			c.Log.Warn("DHCP lease not renewed", "address", lease.Address, "error", err, "expires in", lease.Expire-time.Since(granted))
		}

		if lease.Expire > 0 && time.Since(granted) >= lease.Expire {
			c.Log.Warn("DHCP lease expired", "address", lease.Address)

			return true
		}
	}
}

// wait sleeps until the lease is to be asked about: at T1, then at halves of what is left to T2 and to the end.
func (c *Client) wait(ctx context.Context, lease *Lease, granted time.Time) (checked, ok bool) {
	if lease.Expire == 0 {
		select {
		case <-ctx.Done():
			return false, false
		case <-c.Check:
			return true, true
		}
	}

	age := time.Since(granted)
	next := lease.Renew

	switch {
	case age < lease.Renew:
	case age < lease.Rebind:
		next = min(age+max((lease.Rebind-age)/2, leastRetry), lease.Rebind)
	default:
		next = min(age+max((lease.Expire-age)/2, leastRetry), lease.Expire)
	}

	timer := time.NewTimer(next - age)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false, false
	case <-c.Check:
		return true, true
	case <-timer.C:
		return false, true
	}
}

// ask chooses whom to ask by the age of the lease.
func (c *Client) ask(ctx context.Context, lease *Lease, age time.Duration, checked bool) (*Lease, error) {
	timeout := lastTimeout / 16
	if lease.Expire > 0 {
		timeout = min(timeout, max(lease.Expire-age, firstTimeout))
	}

	switch {
	case checked:
		return c.Exchange.Verify(ctx, lease, timeout)
	case age < lease.Rebind:
		return c.Exchange.Renew(ctx, lease, timeout)
	case age < lease.Expire:
		return c.Exchange.Rebind(ctx, lease, timeout)
	default:
		return nil, errors.New("nobody renewed it")
	}
}

// sleep waits; a check cuts it short.
func (c *Client) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-c.Check:
	case <-timer.C:
	}

	return true
}

// jitter keeps machines that started together from asking together.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/4)) - d/8
}
