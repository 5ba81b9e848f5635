// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/acd"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// ARP is the address resolution of the machine's links.
type ARP interface {
	// Watch calls seen with each use of an address by another machine, until the context ends.
	Watch(ctx context.Context, seen func(acd.Use)) error
	// Probe asks which machine has an address.
	Probe(ctx context.Context, link uint32, from [6]byte, addr netip.Addr) error
}

// addressConflict reports which of the wanted addresses, of DHCP or the configuration, another machine has too. It changes nothing: any
// machine can forge the packet, and a node that loses its address is worse than an address that two machines have.
type addressConflict struct {
	declared
	kernel *netlink.Observer
	arp    ARP
	conflicts
}

func addressConflictController(d *Deps, kernel *netlink.Observer) controller.Controller {
	return &addressConflict{kernel: kernel, arp: d.ARP, declared: declared{
		name: "network.AddressConflictController",
		reads: []controller.Input{
			controller.In[network.AddressSpecSpec](controller.Weak, network.NamespaceName),
			controller.In[network.AddressStatusSpec](controller.Weak, ""),
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
		},
		writes: []controller.Output{controller.Out[network.SpecConditionSpec](controller.Shared)},
	}}
}

// Run implements controller.Controller.
func (c *addressConflict) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error {
		if c.arp == nil {
			<-ctx.Done()

			return nil
		}

		return c.arp.Watch(ctx, func(u acd.Use) {
			if c.note(u, time.Now()) {
				log.Warn("another machine has an address of this machine", "address", u.Addr, "machine", u.Machine())
				changed()
			}
		})
	}

	return follow(ctx, rt, watch, func(ctx context.Context) (time.Duration, error) { return c.reconcile(ctx, rt, log) })
}

func (c *addressConflict) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) (time.Duration, error) {
	specs, err := typed.List[network.AddressSpecSpec](ctx, rt, network.NamespaceName)
	if err != nil {
		return 0, err
	}

	now, err := c.kernel.Snapshot()
	if err != nil {
		return 0, err
	}

	wanted := map[string]bool{}
	for _, s := range specs {
		wanted[s.TypedSpec().LinkName+"/"+s.TypedSpec().Address.String()] = true
	}

	have, own, links := map[claimed]bool{}, map[[6]byte]bool{}, map[uint32]netlink.Link{}

	for _, l := range now.Links {
		links[l.Index] = l

		for _, address := range [][]byte{l.Address, l.PermanentAddress} {
			if len(address) == 6 {
				own[[6]byte(address)] = true
			}
		}
	}

	rt.StartTrackingOutputs()

	for _, a := range now.Addresses {
		l := links[a.LinkIndex]

		if !wanted[l.Name+"/"+a.Prefix.String()] || len(l.Address) != 6 {
			continue
		}

		if a.Flags&unix.IFA_F_DADFAILED != 0 {
			if err := c.show(ctx, rt, l.Name, a.Prefix.Addr(), "another machine has the address too: the kernel does not use it"); err != nil {
				return 0, err
			}
		}

		// Loopbacks have no neighbours, and a link without a carrier is probed when it has one.
		if a.Prefix.Addr().Is4() && l.Up() && l.Carrier() && l.Flags&unix.IFF_NOARP == 0 {
			have[claimed{a.LinkIndex, a.Prefix.Addr()}] = true
		}
	}

	if c.arp == nil {
		have = nil
	}

	probe, others, again := c.round(have, own, time.Now())

	for _, at := range probe {
		if err := c.arp.Probe(ctx, at.link, [6]byte(links[at.link].Address), at.addr); err != nil {
			log.Debug("an address could not be probed", "address", at.addr, "error", err) // the link went down
		}
	}

	for at, other := range others {
		cause := fmt.Sprintf("the machine with hardware address %s has the address too", other.Machine())
		if err := c.show(ctx, rt, links[at.link].Name, at.addr, cause); err != nil {
			return 0, err
		}
	}

	return again, rt.CleanupOutputs(ctx, resource.KindOf[network.SpecConditionSpec](""))
}

func (c *addressConflict) show(ctx context.Context, rt controller.Runtime, link string, addr netip.Addr, cause string) error {
	id := network.SpecConditionID(network.ConditionConflict, link+"/"+addr.String())

	return typed.Set(ctx, rt, "", id, network.SpecConditionSpec{State: network.SpecConflict, Cause: cause})
}
