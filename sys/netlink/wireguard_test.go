// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"errors"
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestWireGuardRequest checks what is sent to the kernel, and that what it sends back is the same.
func TestWireGuardRequest(t *testing.T) {
	key := func(n byte) WireGuardKey { return WireGuardKey{0: 8 * n, 31: 64} }
	want := &WireGuard{
		PrivateKey: key(1), ListenPort: 51820, Mark: 7,
		Peers: []WireGuardPeer{
			{PublicKey: key(2), Endpoint: netip.MustParseAddrPort("[2001:db8::7]:51820"), Keepalive: 25 * time.Second, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}},
			{PublicKey: key(3), PresharedKey: key(9), AllowedIPs: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32"), netip.MustParsePrefix("2001:db8:7::/48")}},
		},
	}

	got := want.config(&WireGuard{Peers: []WireGuardPeer{{PublicKey: key(3)}, {PublicKey: key(4)}}})

	if got.ReplacePeers || len(got.Peers) != 3 || !got.Peers[2].Remove || got.Peers[2].PublicKey != wgtypes.Key(key(4)) || got.Peers[0].Remove || got.Peers[1].Remove {
		t.Errorf("got %+v, want two peers and one removed", got.Peers)
	}

	d := &wgtypes.Device{PrivateKey: *got.PrivateKey, ListenPort: *got.ListenPort, FirewallMark: *got.FirewallMark}
	for _, p := range got.Peers[:2] {
		peer := wgtypes.Peer{PublicKey: p.PublicKey, PresharedKey: *p.PresharedKey, PersistentKeepaliveInterval: *p.PersistentKeepaliveInterval, Endpoint: p.Endpoint}
		peer.AllowedIPs = append([]net.IPNet(nil), p.AllowedIPs...)
		d.Peers = append([]wgtypes.Peer{peer}, d.Peers...) // in another order
	}

	if back := wireGuardFrom(d); !reflect.DeepEqual(back, want) {
		t.Errorf("got  %+v\nwant %+v", back, want)
	}
}

// TestRealWireGuard sets up a link where the kernel has WireGuard.
func TestRealWireGuard(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()

	if err := k.CreateLink(NewLink{Name: "wg7", Kind: "wireguard"}); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no WireGuard")
	} else if err != nil {
		t.Fatal(err)
	}

	private := WireGuardKey{0: 8, 31: 64}
	want := &WireGuard{
		PrivateKey: private, ListenPort: 51820, Mark: 7,
		Peers: []WireGuardPeer{{PublicKey: WireGuardKey{0: 16, 31: 64}.Public(), AllowedIPs: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, Keepalive: time.Second}},
	}

	find := func() Link {
		t.Helper()

		links, err := k.Links()
		if err != nil {
			t.Fatal(err)
		}

		for _, l := range links {
			if l.Name == "wg7" {
				return l
			}
		}

		t.Fatal("no link wg7")

		return Link{}
	}

	l := find()
	if err := k.SetLink(l.Index, LinkChange{Name: "wg7", Kind: "wireguard", WireGuard: want, WireGuardNow: l.WireGuard}); err != nil {
		t.Fatal(err)
	}

	want.PublicKey = private.Public()

	if got := find().WireGuard; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
