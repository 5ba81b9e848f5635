// SPDX-License-Identifier: Apache-2.0

package ethtool_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	rtnetlink "github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/ethtool"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestChannels changes the channels of a pair of virtual links with several queues, and restores them as a machine does whose document is
// removed. Such a link has neither rings nor wake-on-LAN: a change of these is refused, and does not block that of the channels.
func TestChannels(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	createQueues(t, "va", "vb", 4)

	c, err := ethtool.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	read := func(link string) map[string]uint32 {
		t.Helper()

		s, err := c.Read(link)
		if err != nil {
			t.Fatal(err)
		}

		return s.Channels
	}

	is := func(what, link string, rx, tx uint32) {
		t.Helper()

		want := map[string]uint32{"rx": rx, "rx-max": 4, "tx": tx, "tx-max": 4}
		got := read(link)

		for name := range got { // the kernel also sends those that a veth does not have
			if _, ok := want[name]; !ok && got[name] == 0 {
				delete(got, name)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: channels of %s (-want +got):\n%s", what, link, diff)
		}
	}

	is("at first", "va", 4, 4)

	before, err := c.Read("va")
	if err != nil {
		t.Fatal(err)
	}

	change := ethtool.Difference(before, ethtool.Settings{Channels: map[string]uint32{"rx": 2, "tx": 3}})
	if err := c.Set("va", change); err != nil {
		t.Fatal(err)
	}

	is("a change", "va", 2, 3)
	is("a change", "vb", 4, 4)

	magic := uint32(unix.WAKE_MAGIC)

	err = c.Set("va", ethtool.Settings{Channels: map[string]uint32{"rx": 1}, Rings: map[string]uint32{"rx": 64}, Wake: &magic})
	if !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("rings and wake-on-LAN: got %v, want EOPNOTSUPP", err)
	}

	is("a change beside others that are refused", "va", 1, 3)

	if err := c.Set("va", before.Same(change)); err != nil {
		t.Fatal(err)
	}

	is("restored", "va", 4, 4)

	if err := c.Set("va", ethtool.Settings{Channels: map[string]uint32{"rx": 5}}); err == nil {
		t.Error("more channels than queues: got no error")
	}

	is("a refused change", "va", 4, 4)
}

// createQueues creates a pair of virtual links of which each end has a number of queues. No machine needs that, so package netlink cannot.
func createQueues(t *testing.T, name, peer string, queues uint32) {
	t.Helper()

	const peerInfo = 1 // VETH_INFO_PEER

	conn, err := rtnetlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	end := func(ae *rtnetlink.AttributeEncoder, name string) {
		ae.String(unix.IFLA_IFNAME, name)
		ae.Uint32(unix.IFLA_NUM_TX_QUEUES, queues)
		ae.Uint32(unix.IFLA_NUM_RX_QUEUES, queues)
	}

	// Both a message and the attribute of the other end begin with the header of a link.
	headed := func(encode func(*rtnetlink.AttributeEncoder)) ([]byte, error) {
		ae := rtnetlink.NewAttributeEncoder()
		encode(ae)

		attributes, err := ae.Encode()

		return append(make([]byte, unix.SizeofIfInfomsg), attributes...), err
	}

	data, err := headed(func(ae *rtnetlink.AttributeEncoder) {
		end(ae, name)
		ae.Nested(unix.IFLA_LINKINFO, func(info *rtnetlink.AttributeEncoder) error {
			info.String(unix.IFLA_INFO_KIND, "veth")
			info.Nested(unix.IFLA_INFO_DATA, func(data *rtnetlink.AttributeEncoder) error {
				data.Do(peerInfo, func() ([]byte, error) {
					return headed(func(ae *rtnetlink.AttributeEncoder) { end(ae, peer) })
				})

				return nil
			})

			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}

	_, err = conn.Execute(rtnetlink.Message{
		Header: rtnetlink.Header{Type: unix.RTM_NEWLINK, Flags: rtnetlink.Request | rtnetlink.Acknowledge | rtnetlink.Create | rtnetlink.Excl},
		Data:   data,
	})
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no veth")
	}

	if err != nil {
		t.Fatal(err)
	}
}
