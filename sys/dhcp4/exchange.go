// SPDX-License-Identifier: Apache-2.0

// Package dhcp4 is a DHCPv4 client for one link (RFC 2131). Package github.com/insomniacslk/dhcp handles the packets. Package dhcp
// has the states and their times, and asks a Link, or the fake of a test.
package dhcp4

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/dhcp"
)

// ErrRefused is a server's NAK: the lease is not valid, or not any more.
var ErrRefused = dhcp.ErrRefused

// Link asks servers over a network link. The link must be up; it needs no address.
type Link struct {
	Name         string
	HardwareAddr net.HardwareAddr
	// Hostname, if set, returns the name to send to the server; it may be empty. It is called for each exchange.
	Hostname func() string
	// SkipHostname does not request a name from the server.
	SkipHostname bool
	// ClientID is the content of the option: a type byte and an identifier. An empty one is not sent.
	ClientID []byte
}

// Ask implements dhcp.Ask.
func (l *Link) Ask(ctx context.Context, question dhcp.Question, lease *Lease, timeout time.Duration) (*Lease, error) {
	switch question {
	case dhcp.Renew:
		return l.renew(ctx, lease, timeout)
	case dhcp.Rebind:
		return l.rebind(ctx, lease, timeout)
	case dhcp.Verify:
		return l.verify(ctx, lease, timeout)
	default:
		return l.acquire(ctx, timeout)
	}
}

// converse opens a socket for one exchange, because a socket does not survive that the link goes down. With own it is a UDP socket of that
// address, else a raw socket, which needs no address.
func (l *Link) converse(
	timeout time.Duration, own *net.UDPAddr, fn func(*nclient4.Client) (*dhcpv4.DHCPv4, error), opts ...nclient4.ClientOpt,
) (*Lease, error) {
	conn, err := l.listen(own)
	if err != nil {
		return nil, fmt.Errorf("DHCP on %s: %w", l.Name, err)
	}

	// The library decodes packets on a goroutine of its own.
	conn = guard.PacketConn(conn, func(packet []byte) { _, _ = dhcpv4.FromBytes(packet) })

	client, err := nclient4.NewWithConn(conn, l.HardwareAddr, append([]nclient4.ClientOpt{
		nclient4.WithTimeout(timeout), nclient4.WithRetry(1),
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("DHCP on %s: %w", l.Name, errors.Join(err, conn.Close()))
	}
	defer client.Close()

	var lease *Lease

	// A panic of the library is an error of this exchange.
	err = guard.Call(func() error {
		answer, err := fn(client)
		if nak := (*nclient4.ErrNak)(nil); errors.As(err, &nak) {
			return fmt.Errorf("%w: %s", ErrRefused, nak.Nak.Message())
		}

		if err != nil {
			return err
		}

		if answer.MessageType() == dhcpv4.MessageTypeNak {
			return fmt.Errorf("%w: %s", ErrRefused, answer.Message())
		}

		lease, err = FromACK(answer)

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("DHCP on %s: %w", l.Name, err)
	}

	return lease, nil
}

func (l *Link) listen(own *net.UDPAddr) (net.PacketConn, error) {
	if own != nil {
		return net.ListenUDP("udp4", own)
	}

	return nclient4.NewRawUDPConn(l.Name, nclient4.ClientPort)
}

// acquire gets a new lease: discover, offer, request, acknowledgement.
func (l *Link) acquire(ctx context.Context, timeout time.Duration) (*Lease, error) {
	return l.converse(timeout, nil, func(c *nclient4.Client) (*dhcpv4.DHCPv4, error) {
		lease, err := c.Request(ctx, l.modifiers()...)
		if err != nil {
			return nil, err
		}

		return lease.ACK, nil
	})
}

// renew asks the server that granted the lease. The request is sent from the leased address to the server, or as
// a broadcast if that address cannot be used (it is not on the link yet).
func (l *Link) renew(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error) {
	if !lease.Server.IsValid() {
		return l.rebind(ctx, lease, timeout)
	}

	server := &net.UDPAddr{IP: lease.Server.AsSlice(), Port: nclient4.ServerPort}
	own := &net.UDPAddr{IP: lease.Address.Addr().AsSlice(), Port: nclient4.ClientPort}

	renewed, err := l.converse(timeout, own, func(c *nclient4.Client) (*dhcpv4.DHCPv4, error) {
		return l.request(ctx, c, lease, dhcpv4.WithClientIP(lease.Address.Addr().AsSlice()))
	}, nclient4.WithServerAddr(server))
	if err == nil || errors.Is(err, ErrRefused) || ctx.Err() != nil || errors.Is(err, nclient4.ErrNoResponse) {
		return renewed, err
	}

	return l.rebind(ctx, lease, timeout)
}

// rebind asks any server.
func (l *Link) rebind(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error) {
	return l.converse(timeout, nil, func(c *nclient4.Client) (*dhcpv4.DHCPv4, error) {
		return l.request(ctx, c, lease, dhcpv4.WithClientIP(lease.Address.Addr().AsSlice()))
	})
}

// verify asks whether the lease is still valid on this network (state INIT-REBOOT).
func (l *Link) verify(ctx context.Context, lease *Lease, timeout time.Duration) (*Lease, error) {
	return l.converse(timeout, nil, func(c *nclient4.Client) (*dhcpv4.DHCPv4, error) {
		return l.request(ctx, c, lease, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(lease.Address.Addr().AsSlice())))
	})
}

// request sends a request that names no server: to renew, rebind and verify differ only in the field of the address and the destination of
// the packet (RFC 2131, 4.3.6).
//
// The refusal of a server that did not grant the lease counts only if no other server answers: each of two servers on a network may be
// configured as authoritative.
func (l *Link) request(ctx context.Context, c *nclient4.Client, lease *Lease, address dhcpv4.Modifier) (*dhcpv4.DHCPv4, error) {
	request, err := dhcpv4.New(append([]dhcpv4.Modifier{
		dhcpv4.WithHwAddr(l.HardwareAddr), dhcpv4.WithMessageType(dhcpv4.MessageTypeRequest),
		dhcpv4.WithOption(dhcpv4.OptMaxMessageSize(nclient4.MaxMessageSize)), address,
	}, l.modifiers()...)...)
	if err != nil {
		return nil, err
	}

	var refusal *dhcpv4.DHCPv4

	answer, err := c.SendAndRead(ctx, c.RemoteAddr(), request, func(m *dhcpv4.DHCPv4) bool {
		if m.MessageType() == dhcpv4.MessageTypeNak {
			refusal = m

			return !lease.Server.IsValid() || toAddr(m.ServerIdentifier()) == lease.Server
		}

		return m.MessageType() == dhcpv4.MessageTypeAck
	})
	if errors.Is(err, nclient4.ErrNoResponse) && refusal != nil {
		return refusal, nil
	}

	return answer, err
}

// modifiers returns the options of a request: the wanted options, the hostname and the client identifier.
func (l *Link) modifiers() []dhcpv4.Modifier {
	wanted := []dhcpv4.OptionCode{
		dhcpv4.OptionSubnetMask, dhcpv4.OptionClasslessStaticRoute, dhcpv4.OptionRouter, dhcpv4.OptionDomainNameServer,
		dhcpv4.OptionDomainName, dhcpv4.OptionDNSDomainSearchList, dhcpv4.OptionNTPServers, dhcpv4.OptionInterfaceMTU,
		dhcpv4.OptionBroadcastAddress, dhcpv4.OptionIPAddressLeaseTime, dhcpv4.OptionServerIdentifier,
		dhcpv4.OptionRenewTimeValue, dhcpv4.OptionRebindingTimeValue,
	}

	if !l.SkipHostname {
		wanted = append(wanted, dhcpv4.OptionHostName)
	}

	mods := []dhcpv4.Modifier{dhcpv4.WithOption(dhcpv4.OptParameterRequestList(wanted...))}

	if l.Hostname != nil {
		if name := l.Hostname(); name != "" {
			mods = append(mods, dhcpv4.WithOption(dhcpv4.OptHostName(name)))
		}
	}

	if len(l.ClientID) > 0 {
		mods = append(mods, dhcpv4.WithOption(dhcpv4.OptClientIdentifier(l.ClientID)))
	}

	return mods
}
