// SPDX-License-Identifier: Apache-2.0

// Package netlinktest is a netlink.Kernel in memory, for tests. It behaves like Linux in all that the controllers of the network depend on,
// and one table of tests runs against both (package netlink): addresses add connected routes; routes are removed with their link or
// their source address, and when the link goes down; a gateway must be reachable; a new route replaces the one with its key; names and
// MTUs have limits.
//
// Left out: the table local, multicast routes, duplicate address detection, ECMP, the rules of bonds' options.
package netlinktest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// Kernel is the network in memory. The zero value has no links.
type Kernel struct {
	// Fail, if set, is called before each operation, such as "AddAddress"; its error is returned.
	Fail func(operation string) error
	// Promote is net.ipv4.conf.all.promote_secondaries: a second IPv4 address of a network stays when the first is removed.
	Promote bool

	mu        sync.Mutex
	links     []netlink.Link
	addresses []netlink.Address
	routes    []netlink.Route
	rules     []netlink.Rule
	next      uint32
	watchers  map[*watcher]struct{}
	listeners map[chan netlink.RouterOption]struct{}
	calls     []string
	reads     int
}

type watcher struct {
	groups  netlink.Groups
	pending netlink.Groups
	wake    chan struct{}
}

var _ netlink.Kernel = (*Kernel)(nil)

// Calls returns the changes so far, such as "AddAddress 10.0.0.1/24 on 2".
func (k *Kernel) Calls() []string {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.Clone(k.calls)
}

// Reads returns how often links, addresses or routes were listed.
func (k *Kernel) Reads() int {
	k.mu.Lock()
	defer k.mu.Unlock()

	return k.reads
}

func (k *Kernel) begin(operation string, object any) error {
	if object != nil {
		k.calls = append(k.calls, fmt.Sprintf("%s %v", operation, object))
	} else {
		k.reads++
	}

	if k.Fail != nil {
		return k.Fail(operation)
	}

	return nil
}

// change runs an operation on an object, unless the test makes it fail.
func (k *Kernel) change(operation string, object any, do func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	if err := k.begin(operation, object); err != nil {
		return err
	}

	return do()
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

// notify wakes watchers; groups that change without a message are reported with their cause.
func (k *Kernel) notify(what netlink.Groups) {
	if what&netlink.WatchLinks != 0 {
		what |= netlink.WatchAddresses | netlink.WatchRoutes
	}

	if what&netlink.WatchAddresses != 0 {
		what |= netlink.WatchRoutes
	}

	for w := range k.watchers {
		if w.groups&what == 0 {
			continue
		}

		w.pending |= w.groups & what

		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Watch implements netlink.Kernel.
func (k *Kernel) Watch(ctx context.Context, what netlink.Groups, changed func(netlink.Groups)) error {
	w := &watcher{groups: what, wake: make(chan struct{}, 1)}

	k.mu.Lock()
	if k.watchers == nil {
		k.watchers = map[*watcher]struct{}{}
	}

	k.watchers[w] = struct{}{}
	k.mu.Unlock()

	defer func() {
		k.mu.Lock()
		delete(k.watchers, w)
		k.mu.Unlock()
	}()

	changed(what)

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}

		k.mu.Lock()
		pending := w.pending
		w.pending = 0
		k.mu.Unlock()

		changed(pending)
	}
}

// WatchRouterOptions implements netlink.Kernel.
func (k *Kernel) WatchRouterOptions(ctx context.Context, said func(netlink.RouterOption)) error {
	ch := make(chan netlink.RouterOption, 16)

	k.mu.Lock()
	if k.listeners == nil {
		k.listeners = map[chan netlink.RouterOption]struct{}{}
	}

	k.listeners[ch] = struct{}{}
	k.mu.Unlock()

	defer func() {
		k.mu.Lock()
		delete(k.listeners, ch)
		k.mu.Unlock()
	}()

	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-ch:
			said(o)
		}
	}
}

// AdvertiseOption makes a router send an option that the kernel leaves to programs.
func (k *Kernel) AdvertiseOption(o netlink.RouterOption) {
	k.mu.Lock()
	defer k.mu.Unlock()

	for ch := range k.listeners {
		ch <- o
	}
}
