// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// key returns a private key of a test, in base64.
func key(n byte) string {
	var k netlink.WireGuardKey

	k[31], k[0] = 64, n&^7 // as Curve25519 wants them

	return keyText(k)
}

func public(private string) string {
	k, err := parseKey(private)
	if err != nil {
		panic(err)
	}

	return keyText(k.Public())
}

// tunnel returns a WireguardConfig with peers, each NUMBER ENDPOINT NETWORK.
func tunnel(peers ...string) string {
	text := fmt.Sprintf("WireguardConfig\nname: wg0\nprivateKey: %q\nlistenPort: 51820\nfirewallMark: 7\naddresses: [{address: 198.51.100.1/24}]\npeers:\n", key(8))

	for i, p := range peers {
		words := strings.Fields(p)
		text += fmt.Sprintf("  - {publicKey: %q, presharedKey: %q, endpoint: %q, persistentKeepaliveInterval: 25s, allowedIPs: [%s]}\n",
			public(key(byte(16*(i+1)))), key(200), words[0], words[1])
	}

	return documents(text)
}

// wg0 returns the link's settings in the kernel.
func wg0(t *testing.T, m *machine) netlink.Link {
	t.Helper()

	links, err := m.kernel.Links()
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range links {
		if l.Name == "wg0" {
			return l
		}
	}

	t.Fatal("no link wg0")

	return netlink.Link{}
}

func TestWireGuard(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.boot("")
	m.configure(tunnel("192.0.2.77:51820 203.0.113.0/24", "192.0.2.78:51820 2001:db8:7::/48"))

	s := await(m, "", "wg0", func(s network.LinkStatusSpec) bool { return len(s.Wireguard.Peers) == 2 })
	if s.Wireguard.PrivateKey != "" || s.Wireguard.Peers[0].PresharedKey != "" || s.Wireguard.PublicKey != public(key(8)) || s.Wireguard.ListenPort != 51820 {
		t.Errorf("got %+v, want the public key and no secrets", s.Wireguard)
	}

	await[network.AddressStatusSpec](m, "", "wg0/198.51.100.1/24", nil)

	// A peer that calls from elsewhere is followed, and not called back.
	first := wg0(t, m)
	moved := *first.WireGuard
	moved.Peers = append([]netlink.WireGuardPeer(nil), moved.Peers...)

	for i := range moved.Peers {
		moved.Peers[i].Endpoint = netip.MustParseAddrPort("192.0.2.99:9")
	}

	if err := m.kernel.SetLink(first.Index, netlink.LinkChange{Name: "wg0", WireGuard: &moved}); err != nil {
		t.Fatal(err)
	}

	// A change of the kernel's links makes the controllers look again.
	up := false
	if err := m.kernel.SetLink(first.Index, netlink.LinkChange{Up: &up}); err != nil {
		t.Fatal(err)
	}

	await(m, "", "wg0", func(s network.LinkStatusSpec) bool {
		return s.Flags&1 != 0 && s.Wireguard.Peers[0].Endpoint == "192.0.2.99:9"
	})

	// Another configuration is applied without removing the link.
	m.configure(tunnel("192.0.2.77:51820 203.0.113.0/25"))
	await(m, "", "wg0", func(s network.LinkStatusSpec) bool {
		return len(s.Wireguard.Peers) == 1 && s.Wireguard.Peers[0].AllowedIPs[0] == prefix("203.0.113.0/25") && s.Wireguard.Peers[0].Endpoint == "192.0.2.77:51820"
	})

	if again := wg0(t, m); again.Index != first.Index {
		t.Errorf("the link was made again: got index %d, want %d", again.Index, first.Index)
	}

	m.configure("version: v1alpha1\nmachine: {type: worker}\n")
	awaitGone[network.LinkStatusSpec](m, "", "wg0")
}

// TestWireGuardAsTheKernelHasIt checks settings that the kernel returns in another form: as they are given they would be set again and
// again.
func TestWireGuardAsTheKernelHasIt(t *testing.T) {
	one, two := public(key(16)), public(key(32))
	plain := make([]byte, 32)

	for i := range plain {
		plain[i] = 0xff
	}

	got, err := wireguardOf(network.WireguardSpec{
		PrivateKey: base64.StdEncoding.EncodeToString(plain),
		Peers: []network.WireguardPeer{
			{PublicKey: one, AllowedIPs: []netip.Prefix{prefix("192.0.2.0/24")}},
			{PublicKey: two, AllowedIPs: []netip.Prefix{prefix("198.51.100.0/24"), prefix("203.0.113.0/24")}, PersistentKeepaliveInterval: 1500 * time.Millisecond},
			{PublicKey: one, AllowedIPs: []netip.Prefix{prefix("203.0.113.0/24"), prefix("203.0.113.0/24")}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	if k := got.PrivateKey; k[0] != 0xf8 || k[31] != 0x7f || k[1] != 0xff {
		t.Errorf("got the private key %x, want it as Curve25519 uses it", k)
	}

	peers := map[string]string{}
	for _, p := range got.Peers {
		peers[keyText(p.PublicKey)] = fmt.Sprint(p.AllowedIPs, p.Keepalive)
	}

	want := map[string]string{one: "[203.0.113.0/24] 0s", two: "[198.51.100.0/24] 1s"}
	if !maps.Equal(peers, want) || len(got.Peers) != len(want) {
		t.Errorf("got %v, want %v", peers, want)
	}
}
