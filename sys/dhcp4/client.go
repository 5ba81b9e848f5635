// SPDX-License-Identifier: Apache-2.0

// Package dhcp4 is a DHCPv4 client for one link (RFC 2131): it gets a lease, keeps it by renewing and
// rebinding, checks it when the link was down, and asks for another when it ends. Packets are the work of
// github.com/insomniacslk/dhcp; the states and their times are here, on an Exchange that tests replace.
//
// A lease is kept until another takes its place, also past its end and against a server's refusal. The RFC has a
// client drop it; a cluster that loses its nodes' names and addresses because one server is silent has nothing of that.
// Such a lease is told to be unconfirmed, and why.
package dhcp4

import (
	"context"
	"errors"
	"fmt"
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
	// Publish is called with each new status.
	Publish func(Status)
	Log     *slog.Logger

	// Check makes the client ask at once whether its lease still holds: the link was down, or what the client
	// says of itself changed. Nil is never.
	Check <-chan struct{}

	// spread is jitter, but in tests.
	spread func(time.Duration) time.Duration
}

// check is a question that nobody has answered yet: with which timeout it is asked next, and when. The zero value is none.
type check struct {
	timeout time.Duration
	at      time.Time
}

// The times of asking again: RFC 2131, 4.1 doubles from 4 s to 64 s; a machine that boots asks sooner.
const (
	firstTimeout  = time.Second
	verifyTimeout = 4 * time.Second
	lastTimeout   = 64 * time.Second
	// leastRetry is how soon at least a renewal is tried again; the RFC's 60 s are too long for short leases.
	leastRetry = 5 * time.Second
	// silentAfter is how long nobody answers before that is told.
	silentAfter = 10 * time.Second
)

// Run keeps a lease until the context ends. What it had stays valid after that, for the address is in use
// until its owner takes it away.
func (c *Client) Run(ctx context.Context) {
	var status Status

	for ctx.Err() == nil {
		lease := c.acquire(ctx, status)
		if lease == nil {
			return
		}

		c.Log.Info("DHCP lease", "address", lease.Address, "server", lease.Server, "for", lease.Expire)
		c.Publish(Status{Lease: lease})

		status = c.keep(ctx, lease)
		if status.Trouble == nil {
			return
		}

		c.Publish(status)
	}
}

// acquire asks until it gets a lease; nil is the end of the context. Before is what there is meanwhile.
func (c *Client) acquire(ctx context.Context, before Status) *Lease {
	began := time.Now()

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

		if before.Trouble == nil && time.Since(began) >= silentAfter {
			before.Trouble = fmt.Errorf("no lease from any server since %s: %w", began.UTC().Format(time.RFC3339), err)
			c.Publish(before)
		}

		// An error may come at once (the link just went down): the time is used up all the same.
		checked, ok := c.sleep(ctx, c.jitter(timeout)-time.Since(started))

		switch {
		case !ok:
			return nil
		case checked:
			timeout = firstTimeout / 2 // the link is back: soon again
		}
	}
}

// keep renews the lease until it is lost, which is the trouble, or the context ends, which is none.
func (c *Client) keep(ctx context.Context, lease *Lease) Status {
	granted := time.Now()

	var verify check

	for {
		checked, ok := c.wait(ctx, lease, granted, verify)
		if !ok {
			return Status{Lease: lease}
		}

		if checked {
			verify = check{timeout: verifyTimeout}
		}

		next, err := c.ask(ctx, lease, time.Since(granted), &verify)

		switch {
		case ctx.Err() != nil:
			return Status{Lease: lease}
		case err == nil:
			if next.Address != lease.Address {
				c.Log.Warn("the DHCP server changed the address", "from", lease.Address, "to", next.Address)
			}

			lease, granted, verify = next, time.Now(), check{}
			c.Publish(Status{Lease: lease})
		case errors.Is(err, ErrRefused):
			c.Log.Warn("DHCP lease refused: it is kept until there is another", "address", lease.Address, "error", err)

			return Status{lease, fmt.Errorf("kept, though refused at %s: %w", now(), err)}
		default:
			c.Log.Warn("DHCP lease not renewed", "address", lease.Address, "error", err, "expires in", lease.Expire-time.Since(granted))
		}

		if lease.Expire > 0 && time.Since(granted) >= lease.Expire {
			c.Log.Warn("DHCP lease expired: it is kept until there is another", "address", lease.Address)

			return Status{lease, fmt.Errorf("kept, though expired at %s: no server has answered: %w", now(), err)}
		}
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// wait sleeps until the lease is to be asked about: at T1, then at halves of what is left to T2 and to the end; or until
// a check that nobody has answered is sent again.
func (c *Client) wait(ctx context.Context, lease *Lease, granted time.Time, verify check) (checked, ok bool) {
	age := time.Since(granted)

	var due <-chan time.Time

	switch {
	case verify.timeout > 0:
		due = time.After(time.Until(verify.at))
	case lease.Expire > 0:
		timer := time.NewTimer(lease.next(age) - age)
		defer timer.Stop()

		due = timer.C
	}

	select {
	case <-ctx.Done():
		return false, false
	case <-c.Check:
		return true, true
	case <-due:
		return false, true
	}
}

// next is the age at which a lease is to be asked about.
func (l *Lease) next(age time.Duration) time.Duration {
	switch {
	case age < l.Renew:
		return l.Renew
	case age < l.Rebind:
		return min(age+max((l.Rebind-age)/2, leastRetry), l.Rebind)
	default:
		return min(age+max((l.Expire-age)/2, leastRetry), l.Expire)
	}
}

// ask chooses whom to ask by the age of the lease. A check is sent with growing timeouts (RFC 2131, 4.1) until somebody
// answers; always to all servers, for the link may be on another network now.
func (c *Client) ask(ctx context.Context, lease *Lease, age time.Duration, verify *check) (*Lease, error) {
	timeout := verifyTimeout
	if lease.Expire > 0 {
		timeout = min(timeout, max(lease.Expire-age, firstTimeout))
	}

	switch {
	case lease.Expire > 0 && age >= lease.Expire:
		return nil, errors.New("nobody renewed it")
	case verify.timeout > 0:
		question, until := c.Exchange.Verify, lease.Renew
		if lease.Expire > 0 && age >= lease.Renew {
			question, until = c.Exchange.Rebind, lease.Expire
		}

		timeout = c.jitter(verify.timeout)
		if lease.Expire > 0 {
			timeout = min(timeout, max(until-age, firstTimeout))
		}

		// An error may come at once (the link just went down): the time is used up all the same.
		*verify = check{min(2*verify.timeout, lastTimeout), time.Now().Add(timeout)}

		return question(ctx, lease, timeout)
	case age < lease.Rebind:
		return c.Exchange.Renew(ctx, lease, timeout)
	default:
		return c.Exchange.Rebind(ctx, lease, timeout)
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
func (c *Client) jitter(d time.Duration) time.Duration {
	if c.spread != nil {
		return c.spread(d)
	}

	return d + time.Duration(rand.Int64N(int64(d)/4)) - d/8
}
