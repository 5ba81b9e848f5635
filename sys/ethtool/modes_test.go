// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// TestModes decodes sets of bits as the kernel sends them: ours with a mask, which lists all that the card has, and the other end's without
// one. No virtual link has modes.
func TestModes(t *testing.T) {
	set := func(nomask bool, list ...bit) func(*netlink.AttributeEncoder) error {
		return func(set *netlink.AttributeEncoder) error {
			set.Flag(unix.ETHTOOL_A_BITSET_NOMASK, nomask)
			set.Uint32(unix.ETHTOOL_A_BITSET_SIZE, 92)
			set.Nested(unix.ETHTOOL_A_BITSET_BITS, func(bits *netlink.AttributeEncoder) error {
				for _, b := range list {
					bits.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(one *netlink.AttributeEncoder) error {
						one.Uint32(unix.ETHTOOL_A_BITSET_BIT_INDEX, b.index)
						one.String(unix.ETHTOOL_A_BITSET_BIT_NAME, b.name)
						one.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, b.value)

						return nil
					})
				}

				return nil
			})

			return nil
		}
	}

	for name, test := range map[string]struct {
		ours, peer func(*netlink.AttributeEncoder) error
		want       Settings
	}{
		"a card": {
			set(false, bit{3, "100baseT/Full", false}, bit{5, "1000baseT/Full", true}, bit{6, "Autoneg", true}),
			set(true, bit{3, "100baseT/Full", false}, bit{5, "1000baseT/Full", false}),
			Settings{OurModes: []string{"1000baseT/Full", "Autoneg"}, PeerModes: []string{"100baseT/Full", "1000baseT/Full"}},
		},
		"without a cable":        {set(false, bit{5, "1000baseT/Full", true}), nil, Settings{OurModes: []string{"1000baseT/Full"}}},
		"a link without modes":   {set(false), nil, Settings{}},
		"modes of the peer only": {nil, set(true, bit{12, "10000baseT/Full", false}), Settings{PeerModes: []string{"10000baseT/Full"}}},
	} {
		t.Run(name, func(t *testing.T) {
			ae := netlink.NewAttributeEncoder()
			ae.Uint8(unix.ETHTOOL_A_LINKMODES_AUTONEG, 1)

			if test.ours != nil {
				ae.Nested(unix.ETHTOOL_A_LINKMODES_OURS, test.ours)
			}

			if test.peer != nil {
				ae.Nested(unix.ETHTOOL_A_LINKMODES_PEER, test.peer)
			}

			ae.Uint32(unix.ETHTOOL_A_LINKMODES_SPEED, 1000)

			data, err := ae.Encode()
			if err != nil {
				t.Fatal(err)
			}

			ad, err := netlink.NewAttributeDecoder(data)
			if err != nil {
				t.Fatal(err)
			}

			var got Settings

			decodeModes(&got, ad)

			if diff := cmp.Diff(test.want, got); diff != "" || ad.Err() != nil {
				t.Errorf("got error %v; (-want +got):\n%s", ad.Err(), diff)
			}
		})
	}
}
