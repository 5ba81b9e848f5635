// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// AddressSpecController gives links the addresses of AddressSpecs.
func AddressSpecController(d *Deps) controller.Controller { return &addressSpecController{d} }

type addressSpecController struct{ deps *Deps }

// Name implements controller.Controller.
func (*addressSpecController) Name() string { return "network.AddressSpecController" }

// Inputs implements controller.Controller.
func (*addressSpecController) Inputs() []controller.Input {
	return []controller.Input{controller.In[network.AddressSpecSpec](controller.Strong, "")}
}

// Outputs implements controller.Controller.
func (*addressSpecController) Outputs() []controller.Output { return nil }

// Run implements controller.Controller.
func (c *addressSpecController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error {
		return c.deps.Kernel.Watch(ctx, netlink.WatchLinks|netlink.WatchAddresses, changed)
	}

	return follow(ctx, rt, watch, func(ctx context.Context) error { return c.reconcile(ctx, rt, log) })
}

func (c *addressSpecController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	specs, err := hold[network.AddressSpecSpec](ctx, rt, c.Name())
	if err != nil {
		return err
	}

	links, err := c.deps.Kernel.Links()
	if err != nil {
		return err
	}

	addresses, err := c.deps.Kernel.Addresses()
	if err != nil {
		return err
	}

	remove, add := planAddresses(specs.wanted, specs.leaving, links, addresses)

	var errs []error

	for _, a := range remove {
		errs = append(errs, c.deps.Kernel.DeleteAddress(a))

		log.Info("address removed", "address", a.Prefix, "link", a.LinkIndex)
	}

	for _, a := range add {
		if err := c.deps.Kernel.AddAddress(a); err != nil && !errors.Is(err, unix.EEXIST) {
			errs = append(errs, err)

			continue
		}

		log.Info("address added", "address", a.Prefix, "link", a.LinkIndex)
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}

	return specs.release(ctx, rt, c.Name())
}

// decided are the flags of an address that a spec decides about; the kernel adds others by itself.
const decided = nethelpers.AddressNoPrefixRoute | nethelpers.AddressManagementTemp | nethelpers.AddressPermanent

// planAddresses returns what to remove from the kernel, then what to add. An address on a link that is not
// there waits for it.
func planAddresses(wanted, leaving []network.AddressSpecSpec, links []netlink.Link, addresses []netlink.Address) (remove, add []netlink.Address) {
	find := func(spec network.AddressSpecSpec) (netlink.Address, bool, bool) {
		i := slices.IndexFunc(links, func(l netlink.Link) bool {
			return l.Name == spec.LinkName || slices.Contains(l.AltNames, spec.LinkName)
		})
		if i < 0 {
			return netlink.Address{}, false, false
		}

		a := netlink.Address{LinkIndex: links[i].Index, Prefix: spec.Address, Scope: uint8(spec.Scope), Flags: uint32(spec.Flags)}

		if j := slices.IndexFunc(addresses, a.Same); j >= 0 {
			return addresses[j], true, true
		}

		return a, true, false
	}

	for _, spec := range leaving {
		if a, _, exists := find(spec); exists {
			remove = append(remove, a)
		}
	}

	for _, spec := range wanted {
		a, possible, exists := find(spec)

		if exists {
			differ := (nethelpers.AddressFlags(a.Flags)^spec.Flags)&decided != 0 || nethelpers.Scope(a.Scope) != spec.Scope
			if !differ {
				continue
			}

			remove = append(remove, a)
			a.Scope, a.Flags = uint8(spec.Scope), uint32(spec.Flags)
		}

		if possible {
			add = append(add, a)
		}
	}

	return remove, add
}
