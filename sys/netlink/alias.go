// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// linkAttributes is a request about the attributes of a link.
type linkAttributes struct {
	index      uint32
	attributes []netlink.Attribute
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (l linkAttributes) MarshalBinary() ([]byte, error) {
	header := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(header[4:], l.index)

	attributes, err := netlink.MarshalAttributes(l.attributes)

	return append(header, attributes...), err
}

// altName is the list of alternative names with one name.
func altName(index uint32, name string) (linkAttributes, error) {
	names, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: unix.IFLA_ALT_IFNAME, Data: append([]byte(name), 0)}})

	return linkAttributes{index, []netlink.Attribute{{Type: unix.IFLA_PROP_LIST | netlink.Nested, Data: names}}}, err
}

// SetAlias implements Kernel: the second name is an alternative name, and the text that the kernel calls alias.
func (c *Conn) SetAlias(index uint32, old, name string) error {
	if old != "" && old != name {
		if err := ignoreMissing(c.changeName(index, old, unix.RTM_DELLINKPROP, 0)); err != nil {
			return fmt.Errorf("alternative name %s of link %d: %w", old, index, err)
		}
	}

	if name != "" {
		err := c.changeName(index, name, unix.RTM_NEWLINKPROP, netlink.Create|netlink.Append|netlink.Excl)
		if err != nil && !(old == name && errors.Is(err, unix.EEXIST)) {
			return fmt.Errorf("alternative name %s of link %d: %w", name, index, err)
		}
	}

	text := linkAttributes{index, []netlink.Attribute{{Type: unix.IFLA_IFALIAS, Data: []byte(name)}}}
	if err := c.execute(text, unix.RTM_SETLINK, netlink.Request|netlink.Acknowledge); err != nil {
		return fmt.Errorf("alias %s of link %d: %w", name, index, err)
	}

	return nil
}

// changeName adds or removes an alternative name.
func (c *Conn) changeName(index uint32, name string, typ netlink.HeaderType, flags netlink.HeaderFlags) error {
	request, err := altName(index, name)
	if err != nil {
		return err
	}

	return c.execute(request, typ, netlink.Request|netlink.Acknowledge|flags)
}
