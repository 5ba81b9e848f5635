// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// wireguardSpec returns the settings of a WireGuard link of the configuration.
func wireguardSpec(w *view.WireGuard) (network.WireguardSpec, error) {
	spec := network.WireguardSpec{PrivateKey: w.PrivateKey, ListenPort: int(w.ListenPort), FirewallMark: int(w.FirewallMark)}

	key, err := parseKey(w.PrivateKey)
	if err != nil {
		return spec, fmt.Errorf("privateKey: %w", err)
	}

	spec.PublicKey = keyText(key.Public())

	for i, p := range w.Peers {
		peer := network.WireguardPeer{PublicKey: p.PublicKey, PresharedKey: p.PresharedKey, Endpoint: p.Endpoint, PersistentKeepaliveInterval: p.Keepalive}

		for _, text := range p.AllowedIPs {
			allowed, err := parsePrefix(text)
			if err != nil {
				return spec, fmt.Errorf("peers[%d].allowedIPs: %w", i, err)
			}

			peer.AllowedIPs = append(peer.AllowedIPs, allowed.Masked())
		}

		spec.Peers = append(spec.Peers, peer)
	}

	_, err = wireguardOf(spec)

	return spec, err
}

// wireguardOf returns the settings of a spec in the form in which the kernel returns them: a private key without the bits that Curve25519
// does not use, intervals in seconds, each peer once, and each network once. Of several peers with a network the last one has it.
func wireguardOf(spec network.WireguardSpec) (*netlink.WireGuard, error) {
	key, err := parseKey(spec.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("privateKey: %w", err)
	}

	key[0], key[31] = key[0]&0xf8, key[31]&0x7f|0x40

	w := &netlink.WireGuard{PrivateKey: key, PublicKey: key.Public(), ListenPort: uint16(spec.ListenPort), Mark: uint32(spec.FirewallMark)}

	for i, p := range spec.Peers {
		peer := netlink.WireGuardPeer{Keepalive: p.PersistentKeepaliveInterval.Truncate(time.Second), AllowedIPs: slices.Clone(p.AllowedIPs)}

		if peer.PublicKey, err = parseKey(p.PublicKey); err != nil {
			return nil, fmt.Errorf("peers[%d].publicKey: %w", i, err)
		}

		if p.PresharedKey != "" {
			if peer.PresharedKey, err = parseKey(p.PresharedKey); err != nil {
				return nil, fmt.Errorf("peers[%d].presharedKey: %w", i, err)
			}
		}

		if p.Endpoint != "" {
			if peer.Endpoint, err = netip.ParseAddrPort(p.Endpoint); err != nil {
				return nil, fmt.Errorf("peers[%d].endpoint: %w", i, err)
			}
		}

		w.Peers = append(w.Peers, peer)
	}

	w.Peers = peersOnce(w.Peers)
	w.Sort()

	return w, nil
}

// peersOnce returns each peer once, the last description of it, and each network once.
func peersOnce(peers []netlink.WireGuardPeer) []netlink.WireGuardPeer {
	known, taken := map[netlink.WireGuardKey]bool{}, map[netip.Prefix]bool{}

	var out []netlink.WireGuardPeer

	for _, p := range slices.Backward(peers) {
		if known[p.PublicKey] {
			continue
		}

		known[p.PublicKey] = true

		var allowed []netip.Prefix // nil if there is none, as the kernel's settings have it

		for _, n := range p.AllowedIPs {
			if !taken[n] {
				taken[n] = true
				allowed = append(allowed, n)
			}
		}

		p.AllowedIPs = allowed
		out = append(out, p)
	}

	return out
}

// parseKey reads a key in base64. The error does not have it: it may be a secret.
func parseKey(text string) (key netlink.WireGuardKey, err error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) != len(key) {
		return key, fmt.Errorf("is not a WireGuard key: want %d bytes in base64", len(key))
	}

	return netlink.WireGuardKey(data), nil
}

func keyText(key netlink.WireGuardKey) string { return base64.StdEncoding.EncodeToString(key[:]) }

// planWireGuard sets what differs. Endpoints are set once: later the kernel follows the peer, wherever it sends from.
func (p *linkPlanner) planWireGuard(out *plan, s item[network.LinkSpecSpec], l netlink.Link) {
	want, err := wireguardOf(s.spec.Wireguard)

	switch {
	case err != nil:
		out.say(s.id, network.SpecRefused, "wireguard."+err.Error())

		return
	case l.WireGuard == nil:
		out.say(s.id, network.SpecWaiting, "the kernel does not show the settings of WireGuard link "+l.Name)

		return
	case reflect.DeepEqual(p.changed[l.Index].wireguard, want) && sameWireGuard(l.WireGuard, want):
		return
	}

	out.add(s.id, "link "+l.Name+": WireGuard settings", func(k netlink.Kernel) error {
		err := k.SetLink(l.Index, netlink.LinkChange{Name: l.Name, Kind: l.Kind, WireGuard: want, WireGuardNow: l.WireGuard})
		if err == nil {
			changed := p.changed[l.Index]
			changed.wireguard = want
			p.changed[l.Index] = changed
		}

		return err
	})
	out.steps[len(out.steps)-1].silent = true
}

// sameWireGuard compares all but the endpoints, and a port that the kernel chose.
func sameWireGuard(have, want *netlink.WireGuard) bool {
	plain := func(w netlink.WireGuard) netlink.WireGuard {
		w.Peers = slices.Clone(w.Peers)

		for i := range w.Peers {
			w.Peers[i].Endpoint = netip.AddrPort{}
		}

		if want.ListenPort == 0 {
			w.ListenPort = 0
		}

		return w
	}

	return reflect.DeepEqual(plain(*have), plain(*want))
}

// wireguardStatus returns the settings without secrets.
func wireguardStatus(w *netlink.WireGuard) network.WireguardSpec {
	spec := network.WireguardSpec{PublicKey: keyText(w.PublicKey), ListenPort: int(w.ListenPort), FirewallMark: int(w.Mark)}

	for _, p := range w.Peers {
		peer := network.WireguardPeer{PublicKey: keyText(p.PublicKey), PersistentKeepaliveInterval: p.Keepalive, AllowedIPs: p.AllowedIPs}

		if p.Endpoint.IsValid() {
			peer.Endpoint = p.Endpoint.String()
		}

		spec.Peers = append(spec.Peers, peer)
	}

	return spec
}
