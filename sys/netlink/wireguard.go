// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// WireGuardKey is a key: private, public or shared.
type WireGuardKey [wgtypes.KeyLen]byte

// Public returns the public key of a private one.
func (k WireGuardKey) Public() WireGuardKey { return WireGuardKey(wgtypes.Key(k).PublicKey()) }

// WireGuard are the settings of a WireGuard link. The kernel computes PublicKey. Peers are in the order of their keys.
type WireGuard struct {
	PrivateKey, PublicKey WireGuardKey
	// ListenPort 0 lets the kernel choose.
	ListenPort uint16
	Mark       uint32
	Peers      []WireGuardPeer
}

// WireGuardPeer is the other end of a tunnel. Without an endpoint the peer calls first. The kernel changes the endpoint when the peer
// sends from another one.
type WireGuardPeer struct {
	PublicKey, PresharedKey WireGuardKey
	Endpoint                netip.AddrPort
	Keepalive               time.Duration
	// AllowedIPs are sorted (Sort).
	AllowedIPs []netip.Prefix
}

// Sort puts peers and networks into the order that the kernel's settings have here.
func (w *WireGuard) Sort() {
	slices.SortFunc(w.Peers, func(a, b WireGuardPeer) int { return bytes.Compare(a.PublicKey[:], b.PublicKey[:]) })

	for i := range w.Peers {
		slices.SortFunc(w.Peers[i].AllowedIPs, netip.Prefix.Compare)
	}
}

// wireGuardOf returns the settings of a link, or nil if it does not exist any more or this process may not read them: the other links must
// not be lost with it.
func wireGuardOf(link string) (w *WireGuard, err error) {
	client, err := wgctrl.New()
	if err != nil {
		return nil, fmt.Errorf("WireGuard link %s: %w", link, err)
	}

	defer func() { err = errors.Join(err, client.Close()) }()

	d, err := client.Device(link)

	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("WireGuard link %s: %w", link, err)
	}

	return wireGuardFrom(d), nil
}

func wireGuardFrom(d *wgtypes.Device) *WireGuard {
	w := &WireGuard{
		PrivateKey: WireGuardKey(d.PrivateKey), PublicKey: WireGuardKey(d.PublicKey), ListenPort: uint16(d.ListenPort), Mark: uint32(d.FirewallMark),
	}

	for _, p := range d.Peers {
		peer := WireGuardPeer{PublicKey: WireGuardKey(p.PublicKey), PresharedKey: WireGuardKey(p.PresharedKey), Keepalive: p.PersistentKeepaliveInterval}

		if p.Endpoint != nil {
			at := p.Endpoint.AddrPort()
			peer.Endpoint = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
		}

		for _, n := range p.AllowedIPs {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				bits, _ := n.Mask.Size()
				peer.AllowedIPs = append(peer.AllowedIPs, netip.PrefixFrom(addr.Unmap(), bits))
			}
		}

		w.Peers = append(w.Peers, peer)
	}

	w.Sort()

	return w
}

// setWireGuard changes the settings of a link, whose current ones are now. Peers that stay keep their session.
func setWireGuard(link string, want, now *WireGuard) (err error) {
	client, err := wgctrl.New()
	if err != nil {
		return fmt.Errorf("set WireGuard link %s: %w", link, err)
	}

	defer func() { err = errors.Join(err, client.Close()) }()

	if err := client.ConfigureDevice(link, want.config(now)); err != nil {
		return fmt.Errorf("set WireGuard link %s: %w", link, err)
	}

	return nil
}

// config returns the request that leads to the settings: peers are added, changed and removed one by one, so that others are not
// disturbed.
func (w *WireGuard) config(now *WireGuard) wgtypes.Config {
	key, mark := wgtypes.Key(w.PrivateKey), int(w.Mark)
	c := wgtypes.Config{PrivateKey: &key, FirewallMark: &mark}

	if port := int(w.ListenPort); port != 0 {
		c.ListenPort = &port
	}

	for _, p := range w.Peers {
		shared, keepalive := wgtypes.Key(p.PresharedKey), p.Keepalive
		peer := wgtypes.PeerConfig{
			PublicKey: wgtypes.Key(p.PublicKey), PresharedKey: &shared, PersistentKeepaliveInterval: &keepalive, ReplaceAllowedIPs: true,
		}

		if p.Endpoint.IsValid() {
			peer.Endpoint = net.UDPAddrFromAddrPort(p.Endpoint)
		}

		for _, n := range p.AllowedIPs {
			peer.AllowedIPs = append(peer.AllowedIPs, net.IPNet{IP: n.Addr().AsSlice(), Mask: net.CIDRMask(n.Bits(), n.Addr().BitLen())})
		}

		c.Peers = append(c.Peers, peer)
	}

	if now == nil {
		return c
	}

	for _, old := range now.Peers {
		if !slices.ContainsFunc(w.Peers, func(p WireGuardPeer) bool { return p.PublicKey == old.PublicKey }) {
			c.Peers = append(c.Peers, wgtypes.PeerConfig{PublicKey: wgtypes.Key(old.PublicKey), Remove: true})
		}
	}

	return c
}
