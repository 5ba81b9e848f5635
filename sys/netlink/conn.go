// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"iter"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlinkgroup"
)

// Conn is the Kernel of the network namespace it was opened in. It is safe for concurrent use.
type Conn struct {
	raw *netlink.Conn
	rt  *rtnetlink.Conn
}

var _ Kernel = (*Conn)(nil)

// Open opens the kernel's network.
func Open() (*Conn, error) {
	raw, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}

	rt, err := rtnetlink.Dial(nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("netlink: %w", err), raw.Close())
	}

	// With this option the kernel adds a text to an error; without it there is still the errno.
	_ = errors.Join(rt.SetOption(netlink.ExtendedAcknowledge, true), raw.SetOption(netlink.ExtendedAcknowledge, true))

	return &Conn{raw: raw, rt: rt}, nil
}

// Close releases the sockets.
func (c *Conn) Close() error { return errors.Join(c.raw.Close(), c.rt.Close()) }

// ErrInterrupted is the error of a dump that changes interrupted each time: it may be incomplete.
var ErrInterrupted = errors.New("interrupted by changes")

const dumpAttempts = 10

// dump requests all objects of one type. A dump that a change interrupted is repeated.
func (c *Conn) dump(message encoding.BinaryMarshaler, typ netlink.HeaderType) ([]netlink.Message, error) {
	data, err := message.MarshalBinary()
	if err != nil {
		return nil, err
	}

	for attempt := 1; ; attempt++ {
		messages, err := c.raw.Execute(netlink.Message{
			Header: netlink.Header{Type: typ, Flags: netlink.Request | netlink.Dump}, Data: data,
		})
		if err != nil {
			return nil, err
		}

		interrupted := false
		for _, m := range messages {
			interrupted = interrupted || m.Header.Flags&unix.NLM_F_DUMP_INTR != 0
		}

		switch {
		case !interrupted:
			return messages, nil
		case attempt == dumpAttempts:
			return nil, fmt.Errorf("%w %d times", ErrInterrupted, attempt)
		}
	}
}

// execute sends one request, which the kernel acknowledges.
func (c *Conn) execute(message encoding.BinaryMarshaler, typ netlink.HeaderType, flags netlink.HeaderFlags) error {
	data, err := message.MarshalBinary()
	if err != nil {
		return err
	}

	_, err = c.raw.Execute(netlink.Message{Header: netlink.Header{Type: typ, Flags: flags}, Data: data})

	return err
}

// list returns all objects of one type, except those for which decode returns false.
func list[T any](c *Conn, what string, request encoding.BinaryMarshaler, typ netlink.HeaderType, decode func([]byte) (T, bool, error)) ([]T, error) {
	messages, err := c.dump(request, typ)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}

	out := make([]T, 0, len(messages))

	for _, m := range messages {
		v, ok, err := decode(m.Data)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", what, err)
		}

		if ok {
			out = append(out, v)
		}
	}

	return out, nil
}

// Watch implements Kernel.
func (c *Conn) Watch(ctx context.Context, what Groups, changed func(Groups)) error {
	return c.watchRoutes(ctx, what, func(g Groups, routes []RouteChange) {
		if len(routes) > 0 {
			g |= WatchRoutes
		}

		changed(g & what)
	})
}

// watchRoutes is Watch that also says which routes have changed, where the kernel says so: they are then not among the groups.
func (c *Conn) watchRoutes(ctx context.Context, what Groups, changed func(Groups, []RouteChange)) error {
	all := func() { changed(what, nil) }

	err := netlinkgroup.Listener{
		Protocol: unix.NETLINK_ROUTE, Groups: what.numbers(), Buffer: 1 << 20, Started: all, Lost: all,
		Message: func(b []byte) {
			groups, routes := changesOf(netlinkgroup.Messages(b))
			changed(groups&what, routes)
		},
	}.Listen(ctx)
	if err != nil {
		return fmt.Errorf("netlink watch: %w", err)
	}

	return nil
}

// changesOf returns the groups that have changed, and the changes of routes if the groups do not include routes.
func changesOf(messages iter.Seq[netlink.Message]) (g Groups, routes []RouteChange) {
	for m := range messages {
		switch m.Header.Type {
		case unix.RTM_NEWLINK, unix.RTM_DELLINK:
			g |= WatchLinks
		case unix.RTM_NEWADDR, unix.RTM_DELADDR:
			g |= WatchAddresses
		case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
			switch change, ok, err := decodeRouteChange(m); {
			case err != nil:
				g |= WatchRoutes
			case ok:
				routes = append(routes, change)
			}
		case unix.RTM_NEWRULE, unix.RTM_DELRULE:
			g |= WatchRules
		}
	}

	if g = g.follows(); g&WatchRoutes != 0 {
		routes = nil
	}

	return g, routes
}

// ignoreMissing ignores the errors of removing an object that does not exist.
func ignoreMissing(err error) error {
	for _, errno := range []error{unix.ESRCH, unix.ENOENT, unix.EADDRNOTAVAIL, unix.ENODEV} {
		if errors.Is(err, errno) {
			return nil
		}
	}

	return err
}
