// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/jsimonetti/rtnetlink/v2/driver"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// allLinks requests all links without IPv6's counters, which the kernel would sum over all processors for each link.
//
// It does not request the list of a card's virtual functions (RTEXT_FILTER_VF) either. Each function that this machine uses is a link of its
// own. The list has settings for functions that are given to others, which nothing here uses, and with some hundred functions it is
// too long for an attribute.
type allLinks struct{}

// skipStats is RTEXT_FILTER_SKIP_STATS (include/uapi/linux/rtnetlink.h).
const skipStats = 1 << 3

func (allLinks) MarshalBinary() ([]byte, error) {
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.IFLA_EXT_MASK, Data: binary.NativeEndian.AppendUint32(nil, skipStats)},
	})

	return append(make([]byte, unix.SizeofIfInfomsg), attributes...), err
}

// Links implements Kernel.
func (c *Conn) Links() ([]Link, error) {
	links, err := list(c, "links", allLinks{}, unix.RTM_GETLINK, func(data []byte) (Link, bool, error) {
		l, err := decodeLink(data)

		return l, true, err
	})

	for i := range links {
		if l := &links[i]; err == nil && l.Kind == "wireguard" {
			l.WireGuard, err = wireGuardOf(l.Name)
		}
	}

	return links, err
}

// decodeLink decodes a link: first what rtnetlink decodes, then the rest.
func decodeLink(data []byte) (Link, error) {
	var m rtnetlink.LinkMessage
	if err := m.UnmarshalBinary(data); err != nil {
		return Link{}, err
	}

	l := Link{Index: m.Index, Type: m.Type, Flags: m.Flags}

	a := m.Attributes
	if a == nil {
		return l, nil
	}

	l.Name, l.Parent, l.Address, l.Broadcast = a.Name, a.Type, a.Address, a.Broadcast
	l.MTU, l.QueueDisc, l.OperState = a.MTU, a.QueueDisc, uint8(a.OperationalState)

	if a.Master != nil {
		l.Master = *a.Master
	}

	if a.Alias != nil {
		l.Alias = *a.Alias
	}

	if a.Info != nil {
		l.Kind, l.SlaveKind = a.Info.Kind, a.Info.SlaveKind
		l.decodeKind(a.Info.Data)
	}

	return l, l.decodeRest(data[unix.SizeofIfInfomsg:])
}

func (l *Link) decodeRest(attributes []byte) error {
	ad, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return err
	}

	for ad.Next() {
		switch ad.Type() {
		case unix.IFLA_PERM_ADDRESS:
			l.PermanentAddress = ad.Bytes()
		case unix.IFLA_MIN_MTU:
			l.MinMTU = ad.Uint32()
		case unix.IFLA_MAX_MTU:
			l.MaxMTU = ad.Uint32()
		case unix.IFLA_AF_SPEC:
			ad.Nested(l.decodeFamilies)
		case unix.IFLA_PROP_LIST:
			ad.Nested(func(nad *netlink.AttributeDecoder) error {
				for nad.Next() {
					if nad.Type() == unix.IFLA_ALT_IFNAME {
						l.AltNames = append(l.AltNames, nad.String())
					}
				}

				return nil
			})
		}
	}

	return ad.Err()
}

// decodeFamilies decodes the attributes of IPv6; those of other families are not used.
func (l *Link) decodeFamilies(ad *netlink.AttributeDecoder) error {
	for ad.Next() {
		if ad.Type() != unix.AF_INET6 {
			continue
		}

		ad.Nested(func(nad *netlink.AttributeDecoder) error {
			for nad.Next() {
				if nad.Type() == unix.IFLA_INET6_FLAGS {
					const advertised = RouterSeen | RouterManaged | RouterOtherConfig
					l.Router = RouterFlags(nad.Uint32()) & advertised
				}
			}

			return nil
		})
	}

	return nil
}

func (l *Link) decodeKind(data rtnetlink.LinkDriver) {
	switch d := data.(type) {
	case *driver.Bond:
		l.Bond = bondFrom(d)
	case *rtnetlink.LinkData:
		switch d.Name {
		case "vlan":
			l.VLAN = decodeVLAN(d.Data)
		case "bridge":
			l.Bridge = decodeBridge(d.Data)
		case "vrf":
			l.VRF = decodeVRF(d.Data)
		}
	}
}

// CreateLink implements Kernel.
func (c *Conn) CreateLink(n NewLink) error {
	info, err := linkInfo(n.Kind, n.VLAN, n.Bridge, &Bridge{}, n.Bond)
	if err != nil {
		return fmt.Errorf("create link %s: %w", n.Name, err)
	}

	if n.VRF != nil {
		data, err := encodeVRF(n.VRF)
		if err != nil {
			return fmt.Errorf("create link %s: %w", n.Name, err)
		}

		info.Data = &rtnetlink.LinkData{Name: n.Kind, Data: data}
	}

	if n.VethPeer != "" {
		info.Data = &driver.Veth{PeerInfo: &rtnetlink.LinkMessage{Attributes: &rtnetlink.LinkAttributes{Name: n.VethPeer}}}
	}

	m := &rtnetlink.LinkMessage{Attributes: &rtnetlink.LinkAttributes{Name: n.Name, Type: n.Parent, Info: info}}

	if n.Up {
		m.Flags, m.Change = unix.IFF_UP, unix.IFF_UP
	}

	if n.Master != 0 {
		m.Attributes.Master = &n.Master
	}

	if err := c.rt.Link.New(m); err != nil {
		return fmt.Errorf("create %s link %s: %w", n.Kind, n.Name, err)
	}

	return nil
}

// SetLink implements Kernel.
func (c *Conn) SetLink(index uint32, change LinkChange) error {
	if change.WireGuard != nil {
		if err := setWireGuard(change.Name, change.WireGuard, change.WireGuardNow); err != nil {
			return err
		}
	}

	m := rtnetlink.LinkMessage{Index: index, Attributes: &rtnetlink.LinkAttributes{Address: change.Address, Master: change.Master}}

	for flag, on := range map[uint32]*bool{unix.IFF_UP: change.Up, unix.IFF_MULTICAST: change.Multicast} {
		if on != nil {
			m.Change |= flag
			m.Flags |= flag * number[uint32](*on)
		}
	}

	if change.MTU != nil {
		m.Attributes.MTU = *change.MTU
	}

	if change.Bridge != nil {
		info, err := linkInfo(change.Kind, nil, change.Bridge, cmp.Or(change.BridgeNow, &Bridge{}), nil)
		if err != nil {
			return fmt.Errorf("set link %d: %w", index, err)
		}

		m.Attributes.Info = info
	}

	if change.Bond != nil {
		info, err := bondInfo(change)
		if err != nil {
			return fmt.Errorf("set link %d: %w", index, err)
		}

		m.Attributes.Info = info
	}

	// RTM_NEWLINK also changes links, and unlike RTM_SETLINK also the settings of a kind.
	if _, err := c.rt.Execute(&m, unix.RTM_NEWLINK, netlink.Request|netlink.Acknowledge); err != nil {
		return fmt.Errorf("set link %d: %w", index, err)
	}

	return nil
}

// DeleteLink implements Kernel.
func (c *Conn) DeleteLink(index uint32) error {
	if err := ignoreMissing(c.rt.Link.Delete(index)); err != nil {
		return fmt.Errorf("delete link %d: %w", index, err)
	}

	return nil
}

func linkInfo(kind string, vlan *VLAN, bridge, bridgeNow *Bridge, bond *Bond) (*rtnetlink.LinkInfo, error) {
	info := &rtnetlink.LinkInfo{Kind: kind}

	var (
		data []byte
		err  error
	)

	switch {
	case vlan != nil:
		data, err = encodeVLAN(vlan)
	case bridge != nil:
		data, err = encodeBridge(bridge, bridgeNow)
	case bond != nil:
		info.Data = bond.driver()
	}

	if data != nil {
		info.Data = &rtnetlink.LinkData{Name: kind, Data: data}
	}

	return info, err
}
