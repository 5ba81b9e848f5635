// SPDX-License-Identifier: Apache-2.0

// Package dhcp6 is a DHCPv6 client for one link (RFC 8415). A stateful client acquires addresses, and renews and rebinds them; a stateless
// client requests other settings, again when they are old. Package github.com/insomniacslk/dhcp handles the packets. Package dhcp has
// the states and their times, and asks a Link, or the fake of a test.
//
// Left out: temporary addresses, prefix delegation, Decline (the kernel's duplicate address detection sets a flag of the address), and
// Confirm (the client rebinds after the link was down, which servers answer in the same way).
package dhcp6

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/dhcpv6/nclient6"
	"github.com/insomniacslk/dhcp/iana"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/dhcp"
)

// ErrRefused is the error of a server that does not know the lease.
var ErrRefused = dhcp.ErrUnknown

// Link asks servers over a network link. The link must be up and have a link-local address.
type Link struct {
	Name         string
	HardwareAddr net.HardwareAddr
	// DUID identifies the client; if empty it is derived from the hardware address.
	DUID []byte
	// Hostname, if set, returns the name to send to the server; it may be empty. It is called for each exchange.
	Hostname func() string
	// SkipHostname does not request a name from the server.
	SkipHostname bool
}

// Ask implements dhcp.Ask.
func (l *Link) Ask(ctx context.Context, question dhcp.Question, lease *Lease, timeout time.Duration) (*Lease, error) {
	switch question {
	case dhcp.Inform:
		return l.inform(ctx, timeout)
	case dhcp.Renew:
		return l.renew(ctx, lease, timeout)
	case dhcp.Rebind:
		return l.rebind(ctx, lease, timeout)
	default:
		return l.acquire(ctx, timeout)
	}
}

// acquire gets a new lease: solicit, advertise, request, reply.
func (l *Link) acquire(ctx context.Context, timeout time.Duration) (*Lease, error) {
	return l.converse(timeout, false, func(c *nclient6.Client) (*dhcpv6.Message, error) {
		solicit, err := l.message(dhcpv6.MessageTypeSolicit, dhcpv6.WithRapidCommit, l.association(nil))
		if err != nil {
			return nil, err
		}

		answer, err := c.SendAndRead(ctx, c.RemoteAddr(), solicit, offers)
		if err != nil || answer.MessageType == dhcpv6.MessageTypeReply {
			return answer, err
		}

		request, err := l.message(dhcpv6.MessageTypeRequest, dhcpv6.WithServerID(answer.Options.ServerID()), dhcpv6.WithOption(answer.Options.OneIANA()))
		if err != nil {
			return nil, err
		}

		return c.SendAndRead(ctx, c.RemoteAddr(), request, isReply)
	})
}

// offers reports whether a server offers an address.
func offers(m *dhcpv6.Message) bool {
	if m.MessageType != dhcpv6.MessageTypeAdvertise && m.MessageType != dhcpv6.MessageTypeReply || m.Options.ServerID() == nil {
		return false
	}

	ia := m.Options.OneIANA()

	return ia != nil && ia.Options.OneAddress() != nil
}

var isReply = nclient6.IsMessageType(dhcpv6.MessageTypeReply)

// renew asks the server that granted the lease.
func (l *Link) renew(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error) {
	if lease.server == nil {
		return l.rebind(ctx, lease, timeout)
	}

	return l.send(ctx, timeout, dhcpv6.MessageTypeRenew, dhcpv6.WithServerID(lease.server), l.association(lease))
}

// rebind asks any server.
func (l *Link) rebind(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error) {
	return l.send(ctx, timeout, dhcpv6.MessageTypeRebind, l.association(lease))
}

// inform requests settings other than addresses.
func (l *Link) inform(ctx context.Context, timeout time.Duration) (*Lease, error) {
	return l.send(ctx, timeout, dhcpv6.MessageTypeInformationRequest)
}

func (l *Link) send(ctx context.Context, timeout time.Duration, kind dhcpv6.MessageType, mods ...dhcpv6.Modifier) (*Lease, error) {
	return l.converse(timeout, kind == dhcpv6.MessageTypeInformationRequest, func(c *nclient6.Client) (*dhcpv6.Message, error) {
		m, err := l.message(kind, mods...)
		if err != nil {
			return nil, err
		}

		return c.SendAndRead(ctx, c.RemoteAddr(), m, isReply)
	})
}

// converse opens a socket for one exchange, because a socket does not survive that the link goes down.
func (l *Link) converse(timeout time.Duration, stateless bool, fn func(*nclient6.Client) (*dhcpv6.Message, error)) (*Lease, error) {
	conn, err := nclient6.NewIPv6UDPConn(l.Name, dhcpv6.DefaultClientPort)
	if err != nil {
		return nil, fmt.Errorf("DHCPv6 on %s: %w", l.Name, err)
	}

	// The library decodes packets on a goroutine of its own.
	conn = guard.PacketConn(conn, func(packet []byte) { _, _ = dhcpv6.MessageFromBytes(packet) })

	// The library matches messages by their transaction; it needs the hardware address only for messages that it creates.
	client, err := nclient6.NewWithConn(conn, nil, nclient6.WithTimeout(timeout), nclient6.WithRetry(1))
	if err != nil {
		return nil, fmt.Errorf("DHCPv6 on %s: %w", l.Name, errors.Join(err, conn.Close()))
	}
	defer client.Close()

	var lease *Lease

	// A panic of the library is an error of this exchange.
	err = guard.Call(func() error {
		answer, err := fn(client)
		if err != nil {
			return err
		}

		lease, err = FromReply(answer, stateless)

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("DHCPv6 on %s: %w", l.Name, err)
	}

	return lease, nil
}

// message returns a message of the client, with the wanted options and its names.
func (l *Link) message(kind dhcpv6.MessageType, mods ...dhcpv6.Modifier) (*dhcpv6.Message, error) {
	m, err := dhcpv6.NewMessage()
	if err != nil {
		return nil, err
	}

	duid, err := l.duid()
	if err != nil {
		return nil, err
	}

	wanted := []dhcpv6.OptionCode{
		dhcpv6.OptionDNSRecursiveNameServer, dhcpv6.OptionDomainSearchList, dhcpv6.OptionNTPServer, dhcpv6.OptionSNTPServerList,
		dhcpv6.OptionInformationRefreshTime,
	}
	if !l.SkipHostname {
		wanted = append(wanted, dhcpv6.OptionFQDN)
	}

	m.MessageType = kind
	m.AddOption(dhcpv6.OptClientID(duid))
	m.AddOption(dhcpv6.OptRequestedOption(wanted...))
	m.AddOption(dhcpv6.OptElapsedTime(0))

	if l.Hostname != nil {
		if name := l.Hostname(); name != "" {
			dhcpv6.WithFQDN(0, name)(m)
		}
	}

	for _, mod := range mods {
		mod(m)
	}

	return m, nil
}

// duid returns the client's identifier. The default is derived from the hardware address: unlike a DUID with a time, it is the same after a
// reboot.
func (l *Link) duid() (dhcpv6.DUID, error) {
	if len(l.DUID) > 0 {
		return dhcpv6.DUIDFromBytes(l.DUID)
	}

	return &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: l.HardwareAddr}, nil
}

// association requests addresses: those of the lease, if any.
func (l *Link) association(lease *Lease) dhcpv6.Modifier {
	ia := &dhcpv6.OptIANA{}
	copy(ia.IaId[:], l.HardwareAddr[max(len(l.HardwareAddr)-len(ia.IaId), 0):])

	if lease != nil {
		for _, a := range lease.Addresses {
			ia.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: a.AsSlice()})
		}
	}

	return dhcpv6.WithOption(ia)
}
