// SPDX-License-Identifier: Apache-2.0

// Package dhcp6 is a DHCPv6 client for one link (RFC 8415): stateful, it gets addresses and keeps them by renewing and
// rebinding; stateless, it asks for what else a server knows and asks again when that is old. Packets are the work of
// github.com/insomniacslk/dhcp; the states and their times are here, on an Exchange that tests replace.
//
// As in package dhcp4, a lease is kept until another takes its place, and told to be unconfirmed when it is.
//
// Left out: temporary addresses, prefix delegation, Decline (the kernel's duplicate address detection shows as a flag of
// the address), Confirm: after the link was down the client rebinds, which servers answer with the same.
package dhcp6

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// ErrRefused is a server's word that it knows nothing of the lease.
var ErrRefused = errors.New("the DHCPv6 server knows nothing of the lease")

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
type Status struct {
	// Lease is nil before the first one.
	Lease *Lease
	// Trouble is why there is no lease, or why the lease that there is could not be confirmed; nil for one that holds.
	Trouble error
}

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

// Times of asking (RFC 8415, 7.6). The last is shorter than the RFC's hour: a node waits for its address.
const (
	firstTimeout = time.Second
	renewTimeout = 10 * time.Second
	lastTimeout  = 2 * time.Minute
	leastRetry   = 5 * time.Second
	silentAfter  = 10 * time.Second
)

// Run keeps a lease until the context ends. What it had stays valid after that.
func (c *Client) Run(ctx context.Context) {
	var status Status

	for ctx.Err() == nil {
		lease := c.acquire(ctx, status)
		if lease == nil {
			return
		}

		c.Log.Info("DHCPv6 lease", "addresses", lease.Addresses, "for", lease.Expire)
		c.Publish(Status{Lease: lease})

		status = c.keep(ctx, lease)
		if ctx.Err() != nil {
			return
		}

		if status.Trouble != nil {
			c.Publish(status)
		}
	}
}

// acquire asks until it gets a lease; nil is the end of the context. Before is what there is meanwhile.
func (c *Client) acquire(ctx context.Context, before Status) *Lease {
	began := time.Now()

	for timeout := firstTimeout; ; timeout = min(2*timeout, lastTimeout) {
		started := time.Now()

		lease, err := c.ask(ctx, timeout)
		if err == nil {
			return lease
		}

		if ctx.Err() != nil {
			return nil
		}

		c.Log.Debug("no DHCPv6 lease yet", "error", err, "timeout", timeout)

		if before.Trouble == nil && time.Since(began) >= silentAfter {
			before.Trouble = fmt.Errorf("no answer from any DHCPv6 server since %s: %w", began.UTC().Format(time.RFC3339), err)
			c.Publish(before)
		}

		// An error may come at once (no link-local address yet): the time is used up all the same.
		checked, ok := c.sleep(ctx, jitter(timeout)-time.Since(started))

		switch {
		case !ok:
			return nil
		case checked:
			timeout = firstTimeout / 2 // the link is back: soon again
		}
	}
}

func (c *Client) ask(ctx context.Context, timeout time.Duration) (*Lease, error) {
	if c.Stateless {
		return c.Exchange.Inform(ctx, timeout)
	}

	return c.Exchange.Acquire(ctx, timeout)
}

// keep renews the lease until it is lost, which is the trouble; until what is stateless is old, which is none; or until the
// context ends.
func (c *Client) keep(ctx context.Context, lease *Lease) Status {
	granted := time.Now()
	asked := time.Duration(0)      // the age at which it was asked about last
	unanswered := time.Duration(0) // when a check that nobody has answered is sent again; 0 is no check

	for {
		age := time.Since(granted)
		pause := lease.next(age) - age

		if unanswered > 0 {
			pause = min(pause, unanswered)
		}

		if asked < lease.Rebind && age >= lease.Rebind { // T2 has passed while the server was silent
			pause = 0
		}

		checked, ok := c.sleep(ctx, pause)

		switch {
		case !ok || c.Stateless:
			return Status{Lease: lease}
		case checked:
			unanswered = renewTimeout
		case unanswered > 0:
			unanswered = min(2*unanswered, lastTimeout)
		}

		asked = time.Since(granted)
		next, err := c.renew(ctx, lease, asked, unanswered > 0)

		switch {
		case ctx.Err() != nil:
			return Status{Lease: lease}
		case err == nil:
			lease, granted, asked, unanswered = next, time.Now(), 0, 0
			c.Publish(Status{Lease: lease})

			continue
		case errors.Is(err, ErrRefused):
			c.Log.Warn("DHCPv6 lease refused: it is kept until there is another", "addresses", lease.Addresses, "error", err)

			return Status{lease, fmt.Errorf("kept, though refused at %s: %w", now(), err)}
		default:
			c.Log.Warn("DHCPv6 lease not renewed", "addresses", lease.Addresses, "error", err)
		}

		if lease.Expire > 0 && time.Since(granted) >= lease.Expire {
			c.Log.Warn("DHCPv6 lease expired: it is kept until there is another", "addresses", lease.Addresses)

			return Status{lease, fmt.Errorf("kept, though expired at %s: no server has answered: %w", now(), err)}
		}
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// renew chooses whom to ask by the age of the lease.
func (c *Client) renew(ctx context.Context, lease *Lease, age time.Duration, checked bool) (*Lease, error) {
	timeout := renewTimeout
	if lease.Expire > 0 {
		timeout = min(timeout, max(lease.Expire-age, firstTimeout))
	}

	switch {
	case !checked && age < lease.Rebind:
		return c.Exchange.Renew(ctx, lease, timeout)
	case lease.Expire == 0 || age < lease.Expire:
		return c.Exchange.Rebind(ctx, lease, timeout)
	default:
		return nil, errors.New("nobody renewed it")
	}
}

// sleep waits; a check cuts it short.
func (c *Client) sleep(ctx context.Context, d time.Duration) (checked, ok bool) {
	timer := time.NewTimer(max(d, 0))
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

// jitter keeps machines that started together from asking together.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/5)) - d/10
}
