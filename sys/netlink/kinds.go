// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"encoding/binary"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

func encodeVLAN(v *VLAN) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.Uint16(unix.IFLA_VLAN_ID, v.ID)
	ae.Bytes(unix.IFLA_VLAN_PROTOCOL, binary.BigEndian.AppendUint16(nil, v.Protocol))

	return ae.Encode()
}

// decodeVLAN decodes the settings of a VLAN. They come from the kernel, so an attribute that is not valid is only ignored.
func decodeVLAN(data []byte) *VLAN {
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return nil
	}

	var v VLAN

	for ad.Next() {
		switch ad.Type() {
		case unix.IFLA_VLAN_ID:
			v.ID = ad.Uint16()
		case unix.IFLA_VLAN_PROTOCOL:
			if b := ad.Bytes(); len(b) == 2 {
				v.Protocol = binary.BigEndian.Uint16(b)
			}
		}
	}

	return &v
}

// encodeBridge encodes what differs from the current settings: a kernel without VLAN filtering refuses even to turn it off.
func encodeBridge(b, now *Bridge) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()

	if b.STP != now.STP {
		ae.Uint32(unix.IFLA_BR_STP_STATE, number[uint32](b.STP))
	}

	if b.VLANFiltering != now.VLANFiltering {
		ae.Uint8(unix.IFLA_BR_VLAN_FILTERING, number[uint8](b.VLANFiltering))
	}

	return ae.Encode()
}

func decodeBridge(data []byte) *Bridge {
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return nil
	}

	var b Bridge

	for ad.Next() {
		switch ad.Type() {
		case unix.IFLA_BR_STP_STATE:
			b.STP = ad.Uint32() != 0
		case unix.IFLA_BR_VLAN_FILTERING:
			b.VLANFiltering = ad.Uint8() != 0
		}
	}

	return &b
}

func encodeVRF(v *VRF) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(unix.IFLA_VRF_TABLE, v.Table)

	return ae.Encode()
}

func decodeVRF(data []byte) *VRF {
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return nil
	}

	var v VRF

	for ad.Next() {
		if ad.Type() == unix.IFLA_VRF_TABLE {
			v.Table = ad.Uint32()
		}
	}

	return &v
}

func number[T uint8 | uint32](b bool) T {
	if b {
		return 1
	}

	return 0
}
