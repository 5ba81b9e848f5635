// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// Announce tells the machines on a link that this one has an address, so that they forget another one that had it.
type Announce func(ctx context.Context, link uint32, from [6]byte, addr netip.Addr) error

// addressAnnounce announces addresses that may move between machines, once the kernel has them. It does not use a generic: announcements
// follow the kernel and the clock.
type addressAnnounce struct {
	declared
	kernel   *netlink.Observer
	announce Announce
	busy     atomic.Bool // there are addresses to announce
	announcements
}

func addressAnnounceController(d *Deps, kernel *netlink.Observer) controller.Controller {
	return &addressAnnounce{kernel: kernel, announce: d.Announce, declared: declared{
		name:  "network.AddressAnnounceController",
		reads: []controller.Input{controller.In[network.AddressSpecSpec](controller.Weak, network.NamespaceName)},
	}}
}

// Run implements controller.Controller.
func (c *addressAnnounce) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	return follow(ctx, rt, onlyIf(&c.busy, c.kernel.WatchOnly(netlink.WatchLinks|netlink.WatchAddresses, nil)), func(ctx context.Context) (time.Duration, error) { return c.reconcile(ctx, rt, log) })
}

func (c *addressAnnounce) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) (time.Duration, error) {
	specs, err := typed.List[network.AddressSpecSpec](ctx, rt, network.NamespaceName)
	if err != nil {
		return 0, err
	}

	specs = slices.DeleteFunc(specs, func(s *resource.Typed[network.AddressSpecSpec]) bool {
		return !s.TypedSpec().AnnounceWithARP || s.Metadata().Phase() != resource.PhaseRunning
	})
	c.busy.Store(len(specs) > 0)

	now, err := c.kernel.Snapshot()
	if err != nil {
		return 0, err
	}

	have, from := map[claimed]bool{}, map[uint32][6]byte{}

	for _, s := range specs {
		spec := s.TypedSpec()

		link, ok := now.Link(spec.LinkName)
		if !ok || !link.Up() || !link.Carrier() || len(link.Address) != 6 {
			continue
		}

		for _, a := range now.Addresses {
			if a.LinkIndex == link.Index && a.Prefix == spec.Address && a.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 {
				have[claimed{link.Index, a.Prefix.Addr()}], from[link.Index] = true, [6]byte(link.Address)
			}
		}
	}

	send, again := c.round(have, time.Now())

	for _, at := range send {
		if c.announce == nil {
			continue
		}

		if err := c.announce(ctx, at.link, from[at.link], at.addr); err != nil {
			log.Warn("an address could not be announced", "address", at.addr, "error", err)
		}
	}

	return again, nil
}

// From RFC 5227, 2.3, and once more: a packet may be lost.
const (
	announceNumber   = 3
	announceInterval = 2 * time.Second
)

// announcements are those of each address, by how many were sent and when the next one is due.
type announcements map[claimed]announcement

type announcement struct {
	sent int
	next time.Time
}

// round takes the addresses that the machine has. It returns those to announce, and when to call again; 0 is never.
func (n *announcements) round(have map[claimed]bool, now time.Time) (send []claimed, again time.Duration) {
	next := announcements{}

	for at := range have {
		a := (*n)[at]

		if a.sent < announceNumber && !now.Before(a.next) {
			send = append(send, at)
			a = announcement{a.sent + 1, now.Add(announceInterval)}
		}

		if wait := a.next.Sub(now); a.sent < announceNumber && (again == 0 || wait < again) {
			again = wait
		}

		next[at] = a
	}

	*n = next

	return send, again
}
