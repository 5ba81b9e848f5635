// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// field is a number of a message.
type field struct {
	attribute uint16
	// small means that it has one byte, not four.
	small bool
}

type fields map[string]field

var ringFields = fields{
	"rx-max": {unix.ETHTOOL_A_RINGS_RX_MAX, false}, "rx-mini-max": {unix.ETHTOOL_A_RINGS_RX_MINI_MAX, false},
	"rx-jumbo-max": {unix.ETHTOOL_A_RINGS_RX_JUMBO_MAX, false}, "tx-max": {unix.ETHTOOL_A_RINGS_TX_MAX, false},
	"tx-push-buf-len-max": {unix.ETHTOOL_A_RINGS_TX_PUSH_BUF_LEN_MAX, false},
	"rx":                  {unix.ETHTOOL_A_RINGS_RX, false}, "rx-mini": {unix.ETHTOOL_A_RINGS_RX_MINI, false},
	"rx-jumbo": {unix.ETHTOOL_A_RINGS_RX_JUMBO, false}, "tx": {unix.ETHTOOL_A_RINGS_TX, false},
	"rx-buf-len": {unix.ETHTOOL_A_RINGS_RX_BUF_LEN, false}, "cqe-size": {unix.ETHTOOL_A_RINGS_CQE_SIZE, false},
	"tx-push": {unix.ETHTOOL_A_RINGS_TX_PUSH, true}, "rx-push": {unix.ETHTOOL_A_RINGS_RX_PUSH, true},
	"tx-push-buf-len": {unix.ETHTOOL_A_RINGS_TX_PUSH_BUF_LEN, false}, "tcp-data-split": {unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT, true},
}

var channelFields = fields{
	"rx-max": {unix.ETHTOOL_A_CHANNELS_RX_MAX, false}, "tx-max": {unix.ETHTOOL_A_CHANNELS_TX_MAX, false},
	"other-max": {unix.ETHTOOL_A_CHANNELS_OTHER_MAX, false}, "combined-max": {unix.ETHTOOL_A_CHANNELS_COMBINED_MAX, false},
	"rx": {unix.ETHTOOL_A_CHANNELS_RX_COUNT, false}, "tx": {unix.ETHTOOL_A_CHANNELS_TX_COUNT, false},
	"other": {unix.ETHTOOL_A_CHANNELS_OTHER_COUNT, false}, "combined": {unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT, false},
}

func (f fields) decode(ad *netlink.AttributeDecoder) map[string]uint32 {
	names := map[uint16]string{}
	for name, field := range f {
		names[field.attribute] = name
	}

	out := map[string]uint32{}

	for ad.Next() {
		name, known := names[ad.Type()]

		switch {
		case !known:
		case f[name].small:
			out[name] = uint32(ad.Uint8())
		default:
			out[name] = ad.Uint32()
		}
	}

	return out
}

func (f fields) encode(ae *netlink.AttributeEncoder, values map[string]uint32) {
	for name, v := range values {
		if field := f[name]; field.small {
			ae.Uint8(field.attribute, uint8(v))
		} else {
			ae.Uint32(field.attribute, v)
		}
	}
}

// bit is a member of a set of bits that is sent with its name.
type bit struct {
	index uint32
	name  string
	value bool
}

// bits decodes a set of bits with names.
func bits(data []byte) (out []bit, err error) {
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return nil, err
	}

	for ad.Next() {
		if ad.Type() != unix.ETHTOOL_A_BITSET_BITS {
			continue
		}

		ad.Nested(func(list *netlink.AttributeDecoder) error {
			for list.Next() {
				list.Nested(func(one *netlink.AttributeDecoder) error {
					var b bit

					for one.Next() {
						switch one.Type() {
						case unix.ETHTOOL_A_BITSET_BIT_INDEX:
							b.index = one.Uint32()
						case unix.ETHTOOL_A_BITSET_BIT_NAME:
							b.name = one.String()
						case unix.ETHTOOL_A_BITSET_BIT_VALUE:
							b.value = true
						}
					}

					out = append(out, b)

					return nil
				})
			}

			return nil
		})
	}

	return out, ad.Err()
}

// decodeFeatures reads all features: which can be changed, and which are on.
func decodeFeatures(s *Settings, ad *netlink.AttributeDecoder) {
	s.Features, s.Fixed = map[string]bool{}, map[string]bool{}

	for ad.Next() {
		switch ad.Type() {
		case unix.ETHTOOL_A_FEATURES_HW: // all, with a value for those that can be changed
			ad.Do(func(data []byte) error {
				list, err := bits(data)
				for _, b := range list {
					if _, ok := s.Features[b.name]; !ok {
						s.Features[b.name] = false
					}

					s.Fixed[b.name] = s.Fixed[b.name] || !b.value
				}

				return err
			})
		case unix.ETHTOOL_A_FEATURES_ACTIVE: // those that are on
			ad.Do(func(data []byte) error {
				list, err := bits(data)
				for _, b := range list {
					s.Features[b.name] = true
				}

				return err
			})
		case unix.ETHTOOL_A_FEATURES_NOCHANGE: // all, with a value for those that never change
			ad.Do(func(data []byte) error {
				list, err := bits(data)
				for _, b := range list {
					s.Fixed[b.name] = s.Fixed[b.name] || b.value
				}

				return err
			})
		}
	}
}

func encodeFeatures(ae *netlink.AttributeEncoder, features map[string]bool) {
	ae.Nested(unix.ETHTOOL_A_FEATURES_WANTED, func(set *netlink.AttributeEncoder) error {
		set.Nested(unix.ETHTOOL_A_BITSET_BITS, func(list *netlink.AttributeEncoder) error {
			for name, on := range features {
				list.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(one *netlink.AttributeEncoder) error {
					one.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
					one.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, on)

					return nil
				})
			}

			return nil
		})

		return nil
	})
}

// decodeModes reads the modes of the link. The other end's are absent if it advertises none, or if the driver does not know them.
func decodeModes(s *Settings, ad *netlink.AttributeDecoder) {
	for ad.Next() {
		switch ad.Type() {
		case unix.ETHTOOL_A_LINKMODES_OURS: // all that the card has, with a value for those that it advertises
			ad.Do(func(data []byte) error {
				list, err := bits(data)
				for _, b := range list {
					if b.value {
						s.OurModes = append(s.OurModes, b.name)
					}
				}

				return err
			})
		case unix.ETHTOOL_A_LINKMODES_PEER: // those that it advertises
			ad.Do(func(data []byte) error {
				list, err := bits(data)
				for _, b := range list {
					s.PeerModes = append(s.PeerModes, b.name)
				}

				return err
			})
		}
	}
}

func decodeWake(s *Settings, ad *netlink.AttributeDecoder) {
	for ad.Next() {
		if ad.Type() != unix.ETHTOOL_A_WOL_MODES {
			continue
		}

		ad.Do(func(data []byte) error {
			var wake uint32

			list, err := bits(data)
			for _, b := range list {
				if b.value && b.index < 32 {
					wake |= 1 << b.index
				}
			}

			s.Wake = &wake

			return err
		})
	}
}

// encodeWake sends all modes: a set without a mask replaces the one before.
func encodeWake(ae *netlink.AttributeEncoder, wake uint32) {
	ae.Nested(unix.ETHTOOL_A_WOL_MODES, func(set *netlink.AttributeEncoder) error {
		set.Flag(unix.ETHTOOL_A_BITSET_NOMASK, true)
		set.Nested(unix.ETHTOOL_A_BITSET_BITS, func(list *netlink.AttributeEncoder) error {
			for i := range uint32(32) {
				if wake&(1<<i) == 0 {
					continue
				}

				list.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(one *netlink.AttributeEncoder) error {
					one.Uint32(unix.ETHTOOL_A_BITSET_BIT_INDEX, i)

					return nil
				})
			}

			return nil
		})

		return nil
	})
}
