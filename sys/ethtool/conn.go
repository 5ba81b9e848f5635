// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"context"
	"errors"
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Conn is the cards of the network namespace in which it was opened.
type Conn struct {
	conn   *genetlink.Conn
	family genetlink.Family
}

var _ Cards = (*Conn)(nil)

// Open connects to the kernel.
func Open() (*Conn, error) {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return nil, fmt.Errorf("ethtool: %w", err)
	}

	_ = conn.SetOption(netlink.ExtendedAcknowledge, true) // for texts of errors

	family, err := conn.GetFamily(unix.ETHTOOL_GENL_NAME)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ethtool: %w", err), conn.Close())
	}

	return &Conn{conn, family}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Read implements Cards.
func (c *Conn) Read(link string) (Settings, error) {
	var s Settings

	for _, part := range []struct {
		what   string
		get    uint8
		decode func(*Settings, *netlink.AttributeDecoder)
	}{
		{"rings", unix.ETHTOOL_MSG_RINGS_GET, func(s *Settings, ad *netlink.AttributeDecoder) { s.Rings = ringFields.decode(ad) }},
		{"channels", unix.ETHTOOL_MSG_CHANNELS_GET, func(s *Settings, ad *netlink.AttributeDecoder) { s.Channels = channelFields.decode(ad) }},
		{"features", unix.ETHTOOL_MSG_FEATURES_GET, decodeFeatures},
		{"wake-on-LAN", unix.ETHTOOL_MSG_WOL_GET, decodeWake},
		{"modes", unix.ETHTOOL_MSG_LINKMODES_GET, decodeModes},
	} {
		messages, err := c.execute(part.get, link, 0, func(*netlink.AttributeEncoder) {})
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
			continue // the driver has none, or only administrators may know
		}

		if err != nil {
			return s, fmt.Errorf("read %s of link %s: %w", part.what, link, err)
		}

		for _, m := range messages {
			ad, err := netlink.NewAttributeDecoder(m.Data)
			if err != nil {
				return s, fmt.Errorf("read %s of link %s: %w", part.what, link, err)
			}

			part.decode(&s, ad)

			if err := ad.Err(); err != nil {
				return s, fmt.Errorf("read %s of link %s: %w", part.what, link, err)
			}
		}
	}

	return s, nil
}

// Set implements Cards.
func (c *Conn) Set(link string, change Settings) error {
	var errs []error

	set := func(what string, message uint8, encode func(*netlink.AttributeEncoder)) {
		if _, err := c.execute(message, link, netlink.Acknowledge, encode); err != nil {
			errs = append(errs, fmt.Errorf("set %s of link %s: %w", what, link, err))
		}
	}

	// A refused part does not block the others.
	if len(change.Channels) > 0 {
		set("channels", unix.ETHTOOL_MSG_CHANNELS_SET, func(ae *netlink.AttributeEncoder) { channelFields.encode(ae, change.Channels) })
	}

	if len(change.Rings) > 0 {
		set("rings", unix.ETHTOOL_MSG_RINGS_SET, func(ae *netlink.AttributeEncoder) { ringFields.encode(ae, change.Rings) })
	}

	if len(change.Features) > 0 {
		set("features", unix.ETHTOOL_MSG_FEATURES_SET, func(ae *netlink.AttributeEncoder) { encodeFeatures(ae, change.Features) })
	}

	if change.Wake != nil {
		set("wake-on-LAN", unix.ETHTOOL_MSG_WOL_SET, func(ae *netlink.AttributeEncoder) { encodeWake(ae, *change.Wake) })
	}

	return errors.Join(errs...)
}

// header is the attribute that names the link: it has the same number in all messages.
const header = 1

func (c *Conn) execute(message uint8, link string, flags netlink.HeaderFlags, encode func(*netlink.AttributeEncoder)) ([]genetlink.Message, error) {
	ae := netlink.NewAttributeEncoder()
	ae.Nested(header, func(h *netlink.AttributeEncoder) error {
		h.String(unix.ETHTOOL_A_HEADER_DEV_NAME, link)

		if flags&netlink.Acknowledge != 0 { // or some messages have a reply before that
			h.Uint32(unix.ETHTOOL_A_HEADER_FLAGS, unix.ETHTOOL_FLAG_OMIT_REPLY)
		}

		return nil
	})
	encode(ae)

	data, err := ae.Encode()
	if err != nil {
		return nil, err
	}

	return c.conn.Execute(genetlink.Message{
		Header: genetlink.Header{Command: message, Version: unix.ETHTOOL_GENL_VERSION}, Data: data,
	}, c.family.ID, netlink.Request|flags)
}

// Watch calls changed after each change of settings, until the context ends.
func (c *Conn) Watch(ctx context.Context, changed func()) error {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return fmt.Errorf("ethtool: %w", err)
	}

	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if stop() {
			_ = conn.Close()
		}
	}()

	for _, g := range c.family.Groups {
		if g.Name != unix.ETHTOOL_MCGRP_MONITOR_NAME {
			continue
		}

		if err := conn.JoinGroup(g.ID); err != nil {
			return fmt.Errorf("ethtool: %w", err)
		}
	}

	changed()

	for {
		// A message that is lost is one of many: the settings are read after the next.
		if _, _, err := conn.Receive(); ctx.Err() != nil {
			return nil
		} else if err != nil && !errors.Is(err, unix.ENOBUFS) {
			return fmt.Errorf("ethtool: %w", err)
		}

		changed()
	}
}
