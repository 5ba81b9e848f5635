// SPDX-License-Identifier: Apache-2.0

// Package netlinktest is a netlink.Kernel in memory, for tests: it keeps what it is told, tells watchers, and
// fails where the test says so.
package netlinktest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// Kernel is the network in memory. The zero value has no links.
type Kernel struct {
	// Fail, if set, is asked before each operation, such as "AddAddress"; its error is returned.
	Fail func(operation string) error

	mu        sync.Mutex
	links     []netlink.Link
	addresses []netlink.Address
	routes    []netlink.Route
	next      uint32
	watchers  map[chan struct{}]netlink.Groups
	calls     []string
}

var _ netlink.Kernel = (*Kernel)(nil)

// Calls returns the changes that were made so far, such as "AddAddress 10.0.0.1/24 on 2".
func (k *Kernel) Calls() []string {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.Clone(k.calls)
}

// Plug adds a link as hardware does, and gives it the next index unless it has one.
func (k *Kernel) Plug(l netlink.Link) netlink.Link {
	k.mu.Lock()
	defer k.mu.Unlock()

	if l.Index == 0 {
		k.next++
		l.Index = k.next
	}

	k.next = max(k.next, l.Index)
	k.links = append(k.links, l)
	k.notify(netlink.WatchLinks)

	return l
}

// Unplug removes a link with its addresses and routes.
func (k *Kernel) Unplug(index uint32) {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.remove(index)
}

func (k *Kernel) remove(index uint32) {
	k.links = slices.DeleteFunc(k.links, func(l netlink.Link) bool { return l.Index == index })
	k.addresses = slices.DeleteFunc(k.addresses, func(a netlink.Address) bool { return a.LinkIndex == index })
	k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool { return r.LinkIndex == index })
	k.notify(netlink.WatchLinks | netlink.WatchAddresses | netlink.WatchRoutes)
}

// Carrier plugs or unplugs the cable of a link.
func (k *Kernel) Carrier(index uint32, on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()

	for i := range k.links {
		if k.links[i].Index == index {
			setCarrier(&k.links[i], on)
		}
	}

	k.notify(netlink.WatchLinks)
}

const (
	operDown = 2
	operUp   = 6
)

func setCarrier(l *netlink.Link, on bool) {
	const flags = unix.IFF_RUNNING | unix.IFF_LOWER_UP

	l.Flags, l.OperState = l.Flags&^flags, operDown
	if on {
		l.Flags, l.OperState = l.Flags|flags, operUp
	}
}

func (k *Kernel) begin(operation string, object any) error {
	if object != nil {
		k.calls = append(k.calls, fmt.Sprintf("%s %v", operation, object))
	}

	if k.Fail != nil {
		return k.Fail(operation)
	}

	return nil
}

func (k *Kernel) notify(what netlink.Groups) {
	for ch, groups := range k.watchers {
		if groups&what != 0 {
			select {
			case ch <- struct{}{}:
			default:
			}
		}
	}
}

// Links implements netlink.Kernel.
func (k *Kernel) Links() ([]netlink.Link, error) {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.SortedFunc(slices.Values(k.links), func(a, b netlink.Link) int { return cmp.Compare(a.Index, b.Index) }), k.begin("Links", nil)
}

// Addresses implements netlink.Kernel.
func (k *Kernel) Addresses() ([]netlink.Address, error) {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.Clone(k.addresses), k.begin("Addresses", nil)
}

// Routes implements netlink.Kernel.
func (k *Kernel) Routes() ([]netlink.Route, error) {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.Clone(k.routes), k.begin("Routes", nil)
}

// CreateLink implements netlink.Kernel.
func (k *Kernel) CreateLink(n netlink.NewLink) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin("CreateLink", n.Kind+" "+n.Name); err != nil {
		return err
	}

	k.next++
	k.links = append(k.links, netlink.Link{
		Name: n.Name, Index: k.next, Type: unix.ARPHRD_ETHER, Kind: n.Kind, Parent: n.Parent, MTU: max(n.MTU, 1500),
		VLAN: n.VLAN, Bridge: n.Bridge, Bond: n.Bond, OperState: operDown, Address: []byte{2, 0, 0, 0, 0, byte(k.next)},
	})
	k.notify(netlink.WatchLinks)

	return nil
}

// SetLink implements netlink.Kernel.
func (k *Kernel) SetLink(index uint32, change netlink.LinkChange) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin("SetLink", describe(index, change)); err != nil {
		return err
	}

	i := slices.IndexFunc(k.links, func(l netlink.Link) bool { return l.Index == index })
	if i < 0 {
		return fmt.Errorf("set link %d: %w", index, unix.ENODEV)
	}

	l := &k.links[i]

	if change.Up != nil {
		l.Flags &^= unix.IFF_UP
		if *change.Up {
			l.Flags |= unix.IFF_UP
		}

		setCarrier(l, *change.Up)
	}

	if change.MTU != nil {
		l.MTU = *change.MTU
	}

	if change.Address != nil {
		l.Address = change.Address
	}

	if change.Master != nil {
		l.Master = *change.Master
	}

	if change.Bridge != nil {
		l.Bridge = change.Bridge
	}

	if change.Bond != nil {
		l.Bond = change.Bond
	}

	k.notify(netlink.WatchLinks)

	return nil
}

func describe(index uint32, c netlink.LinkChange) string {
	s := fmt.Sprint(index)

	if c.Up != nil {
		s += fmt.Sprintf(" up=%v", *c.Up)
	}

	if c.MTU != nil {
		s += fmt.Sprintf(" mtu=%d", *c.MTU)
	}

	if c.Address != nil {
		s += fmt.Sprintf(" address=%x", c.Address)
	}

	if c.Master != nil {
		s += fmt.Sprintf(" master=%d", *c.Master)
	}

	if c.Bridge != nil || c.Bond != nil {
		s += " " + c.Kind
	}

	return s
}

// DeleteLink implements netlink.Kernel.
func (k *Kernel) DeleteLink(index uint32) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin("DeleteLink", index); err != nil {
		return err
	}

	k.remove(index)

	return nil
}

// AddAddress implements netlink.Kernel.
func (k *Kernel) AddAddress(a netlink.Address) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin("AddAddress", fmt.Sprintf("%s on %d", a.Prefix, a.LinkIndex)); err != nil {
		return err
	}

	if slices.ContainsFunc(k.addresses, a.Same) {
		return fmt.Errorf("add address %s: %w", a.Prefix, unix.EEXIST)
	}

	k.addresses = append(k.addresses, a)
	k.notify(netlink.WatchAddresses)

	return nil
}

// DeleteAddress implements netlink.Kernel.
func (k *Kernel) DeleteAddress(a netlink.Address) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin("DeleteAddress", fmt.Sprintf("%s on %d", a.Prefix, a.LinkIndex)); err != nil {
		return err
	}

	k.addresses = slices.DeleteFunc(k.addresses, a.Same)
	k.notify(netlink.WatchAddresses)

	return nil
}

// ReplaceRoute implements netlink.Kernel.
func (k *Kernel) ReplaceRoute(r netlink.Route) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin("ReplaceRoute", r); err != nil {
		return err
	}

	k.routes = append(slices.DeleteFunc(k.routes, r.SameKey), r)
	k.notify(netlink.WatchRoutes)

	return nil
}

// DeleteRoute implements netlink.Kernel.
func (k *Kernel) DeleteRoute(r netlink.Route) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin("DeleteRoute", r); err != nil {
		return err
	}

	k.routes = slices.DeleteFunc(k.routes, r.SameKey)
	k.notify(netlink.WatchRoutes)

	return nil
}

// Watch implements netlink.Kernel.
func (k *Kernel) Watch(ctx context.Context, what netlink.Groups, changed func()) error {
	ch := make(chan struct{}, 1)

	k.mu.Lock()
	if k.watchers == nil {
		k.watchers = map[chan struct{}]netlink.Groups{}
	}

	k.watchers[ch] = what
	k.mu.Unlock()

	defer func() {
		k.mu.Lock()
		delete(k.watchers, ch)
		k.mu.Unlock()
	}()

	for {
		changed()

		select {
		case <-ctx.Done():
			return nil
		case <-ch:
		}
	}
}
