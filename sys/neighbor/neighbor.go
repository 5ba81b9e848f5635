// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package neighbor finds out whether a machine on the same network answers: whether the kernel finds its hardware address by ARP or neighbor
// discovery. Nothing above that need answer, so a router that refuses all connections is found, too.
package neighbor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// discard is a port of UDP whose datagrams mean nothing (RFC 863).
const discard = 9

// pollEvery is the time between two looks at the kernel's table of neighbors.
const pollEvery = 200 * time.Millisecond

// Answers reports whether the neighbor on a link answers. The kernel decides in 3 s. A neighbor of
// which nothing is known when ctx ends is said to answer: there are links without hardware addresses.
func Answers(ctx context.Context, addr netip.Addr, link string) (bool, error) {
	if addr.IsLinkLocalUnicast() && addr.Is6() {
		addr = addr.WithZone(link)
	}

	card, err := net.InterfaceByName(link)
	if err != nil {
		return false, nil // the link is gone
	}

	conn, err := rtnetlink.Dial(nil)
	if err != nil {
		return false, fmt.Errorf("ask neighbor %s: %w", addr, err)
	}
	defer conn.Close()

	again := true // what the kernel knew before is not asked for

	for now := uint16(0); ; {
		// Only a packet has the kernel look. Another one would have it begin again.
		if now == 0 {
			if sent, err := send(addr, link); !sent {
				return false, err
			}
		}

		all, err := conn.Neigh.List()
		if err != nil {
			return false, fmt.Errorf("ask neighbor %s: %w", addr, err)
		}

		found := entry(all, addr, uint32(card.Index))
		now = found.State

		if again && now&known != 0 {
			if err := probe(conn, found); err != nil {
				return false, fmt.Errorf("ask neighbor %s: %w", addr, err)
			}

			now = unix.NUD_PROBE
		}

		again = false

		if answers, decided := verdict(now); decided {
			return answers, nil
		}

		select {
		case <-ctx.Done():
			return true, nil
		case <-time.After(pollEvery):
		}
	}
}

// known are the states of a neighbor that the kernel does not ask at once.
const known = unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY

// probe has the kernel ask a neighbor that it knows whether it is still there.
func probe(conn *rtnetlink.Conn, n rtnetlink.NeighMessage) error {
	_, err := conn.Execute(&rtnetlink.NeighMessage{
		Family: n.Family, Index: n.Index, State: unix.NUD_PROBE,
		Attributes: &rtnetlink.NeighAttributes{Address: n.Attributes.Address, LLAddress: n.Attributes.LLAddress},
	}, unix.RTM_NEWNEIGH, netlink.Request|netlink.Replace|netlink.Acknowledge)

	if errors.Is(err, unix.ENOENT) { // it is gone by now
		return nil
	}

	return err
}

// send sends an empty datagram. It returns false if the kernel knows no way to the address.
func send(addr netip.Addr, link string) (bool, error) {
	d := net.Dialer{Control: bindTo(link)}

	conn, err := d.Dial("udp", netip.AddrPortFrom(addr, discard).String())
	if err == nil {
		_, err = conn.Write(nil)
		err = errors.Join(err, conn.Close())
	}

	switch {
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.ENETDOWN):
		return false, nil
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), err == nil: // a firewall refuses it
		return true, nil
	default:
		return false, fmt.Errorf("ask neighbor %s: %w", addr, err)
	}
}

// entry returns a neighbor in the kernel's table, or one without a state.
func entry(all []rtnetlink.NeighMessage, addr netip.Addr, link uint32) rtnetlink.NeighMessage {
	for _, n := range all {
		if n.Index != link || n.Attributes == nil {
			continue
		}

		if known, ok := netip.AddrFromSlice(n.Attributes.Address); ok && known.Unmap() == addr.WithZone("").Unmap() {
			return n
		}
	}

	return rtnetlink.NeighMessage{}
}

// verdict returns what a state says, and whether it says something.
func verdict(state uint16) (answers, decided bool) {
	switch {
	case state&(unix.NUD_REACHABLE|unix.NUD_PERMANENT|unix.NUD_NOARP) != 0:
		return true, true
	case state&unix.NUD_FAILED != 0:
		return false, true
	default: // the kernel is asking, or will
		return false, false
	}
}
