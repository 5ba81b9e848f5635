// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Settings of a bond that the kernel changes only while the bond is down, and those that it changes only without slaves
// (drivers/net/bonding/bond_options.c, BOND_OPTFLAG_IFDOWN and BOND_OPTFLAG_NOSLAVES).
var (
	bondDown = []uint16{
		unix.IFLA_BOND_AD_LACP_RATE, unix.IFLA_BOND_AD_LACP_ACTIVE, unix.IFLA_BOND_AD_SELECT, unix.IFLA_BOND_AD_USER_PORT_KEY,
		unix.IFLA_BOND_TLB_DYNAMIC_LB,
	}
	bondNoSlaves = []uint16{unix.IFLA_BOND_MODE, unix.IFLA_BOND_FAIL_OVER_MAC}
)

// BondChange is the difference between a bond and its wanted state.
type BondChange struct {
	// Remake is set if the bond must be created again: the kernel does not change the setting of a bond with slaves.
	Remake bool
	// Down is set if the bond must be down during the change.
	Down bool

	attributes []netlink.Attribute
}

// Empty reports whether the bonds are equal.
func (c BondChange) Empty() bool { return !c.Remake && len(c.attributes) == 0 }

// Change compares a bond with that of the kernel, in the settings that its mode uses. Only settings that differ may be set, because the
// kernel refuses to set some of them now even to the same value.
func (b *Bond) Change(now *Bond) (BondChange, error) {
	want, err := b.attributes()
	if err != nil {
		return BondChange{}, err
	}

	there, err := now.attributes()
	if err != nil {
		return BondChange{}, err
	}

	if _, ok := there[unix.IFLA_BOND_PRIMARY]; ok && b.Primary == 0 {
		want[unix.IFLA_BOND_PRIMARY] = netlink.Attribute{Type: unix.IFLA_BOND_PRIMARY, Data: make([]byte, 4)}
	}

	var c BondChange

	for kind, attribute := range want {
		old, ok := there[kind]
		if ok && bytes.Equal(old.Data, attribute.Data) || !ok && empty(attribute.Data) {
			continue
		}

		c.attributes = append(c.attributes, attribute)
		c.Down = c.Down || slices.Contains(bondDown, kind)
		c.Remake = c.Remake || slices.Contains(bondNoSlaves, kind)
	}

	slices.SortFunc(c.attributes, func(x, y netlink.Attribute) int { return int(x.Type) - int(y.Type) })

	return c, nil
}

// bondInfo returns a change of a bond in the kernel's form.
func bondInfo(change LinkChange) (*rtnetlink.LinkInfo, error) {
	c, err := change.Bond.Change(change.BondNow)
	if err != nil {
		return nil, err
	}

	data, err := netlink.MarshalAttributes(c.attributes)
	if err != nil {
		return nil, fmt.Errorf("encode bond: %w", err)
	}

	return &rtnetlink.LinkInfo{Kind: change.Kind, Data: &rtnetlink.LinkData{Name: change.Kind, Data: data}}, nil
}

// empty reports whether all bytes are zero, which is the kernel's value of an attribute that it leaves out.
func empty(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }

// attributes returns the attributes of the bond by kind, in the kernel's form.
func (b *Bond) attributes() (map[uint16]netlink.Attribute, error) {
	c := *b
	if c.MIIMon > 0 { // the kernel rounds down to multiples
		c.UpDelay -= c.UpDelay % c.MIIMon
		c.DownDelay -= c.DownDelay % c.MIIMon
		c.PeerNotifyDelay -= c.PeerNotifyDelay % c.MIIMon
	}

	encoder := netlink.NewAttributeEncoder()
	if err := c.driver().Encode(encoder); err != nil {
		return nil, fmt.Errorf("encode bond: %w", err)
	}

	raw, err := encoder.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode bond: %w", err)
	}

	list, err := netlink.UnmarshalAttributes(raw)
	if err != nil {
		return nil, fmt.Errorf("encode bond: %w", err)
	}

	all := make(map[uint16]netlink.Attribute, len(list))
	for _, a := range list {
		all[a.Type&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = a
	}

	return all, nil
}
